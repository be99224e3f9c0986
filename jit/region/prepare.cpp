// From a nest to what run.cpp walks: functions resolved, buffers assigned, scratch laid out.
#include <algorithm>
#include <cstring>

#include "jit/region/loops.h"

namespace tfvm {

namespace {

DType held(DType d) { return is_half(d) ? DType::F32 : d; }  // the dtype of values as held
std::uint8_t bytes(DType d) { return static_cast<std::uint8_t>(size_of(d)); }
constexpr std::size_t align64(std::size_t n) { return (n + 63) / 64 * 64; }

Error no_kernel(Op op, DType d) {
  return {Code::Unsupported, "[" + std::string(name(op)) + "] has no kernel for " + std::string(name(d))};
}

template <std::size_t Size>
void copy_block(void* out, const void* in, const void*, const void*, std::int64_t n) {
  std::memmove(out, in, static_cast<std::size_t>(n) * Size);
}

BlockFn find_copy(std::int64_t size) {
  return size == 1 ? &copy_block<1> : size == 2 ? &copy_block<2> : size == 4 ? &copy_block<4> : &copy_block<8>;
}

// nextafter steps in the 16-bit format, on values held as f32.
template <DType D>
void next_after_half(void* out, const void* a, const void* b, const void*, std::int64_t n) {
  static const BlockFn narrow = find_cast(DType::F32, D), widen = find_cast(D, DType::F32),
                       step = find_block_op(Op::nextafter, D);
  std::uint16_t x[64], y[64];
  for (std::int64_t i = 0; i < n; i += 64) {
    const std::int64_t m = std::min<std::int64_t>(64, n - i);
    narrow(x, static_cast<const float*>(a) + i, nullptr, nullptr, m);
    narrow(y, static_cast<const float*>(b) + i, nullptr, nullptr, m);
    step(x, x, y, nullptr, m);
    widen(static_cast<float*>(out) + i, x, nullptr, nullptr, m);
  }
}

class Preparer {
 public:
  Preparer(const Nest& nest, NestCode& code) : nest_(nest), code_(code) {}

  Status run() {
    plan_loops(nest_, code_);
    find_raw();
    for (const NestNode& n : nest_.nodes)
      if (Status s = node(n); !s) return s;
    if (nest_.reductions.size() > kMaxReductions) return Error{Code::Limit, "a loop nest has at most 16 reductions"};
    std::uint32_t access = static_cast<std::uint32_t>(nest_.accesses.size());
    for (const Store& s : nest_.stores) store(s, access++);
    for (const Reduction& r : nest_.reductions)
      if (Status s = reduction(r, access++); !s) return s;
    find_invariants();
    direct_stores();
    layout();
    return ok();
  }

 private:
  void find_raw();
  Status node(const NestNode& n);
  Status op_node(const NestNode& n, NodeCode& c);
  Status cast_node(DType from, DType to, NodeCode& c);
  void bitcast_node(DType from, DType to, NodeCode& c);
  void constant(const NestNode& n, std::uint32_t index);
  void load(const NestNode& n, NodeCode& c);
  void store(const Store& s, std::uint32_t access);
  Status reduction(const Reduction& r, std::uint32_t access);
  void find_invariants();
  void direct_stores();
  void layout();
  std::vector<std::uint32_t> last_uses() const;
  std::int64_t window() const {
    return code_.mode == NestMode::Scalar ? 1 : std::max<std::int64_t>(1, code_.chunk * code_.inside);
  }

  // The dtype of a node's values as they are held.
  DType held_as(std::uint32_t node) const { return raw_[node] ? DType::U16 : held(nest_.nodes[node].dtype); }

  const Nest& nest_;
  NestCode& code_;
  std::vector<std::uint8_t> raw_;  // per node: a 16-bit float held as its bits
};

// A load or constant that is only stored and bitcast keeps its bits, NaN and all, and is not converted.
void Preparer::find_raw() {
  raw_.assign(nest_.nodes.size(), 0);
  for (std::uint32_t i = 0; i < nest_.nodes.size(); ++i) {
    const NestNode& n = nest_.nodes[i];
    raw_[i] = is_half(n.dtype) && (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Constant);
    if (n.kind != NestNodeKind::Op || n.op == Op::bitcast) continue;
    for (std::uint32_t in : n.in)
      if (in != kNoNode) raw_[in] = 0;
  }
  for (const Reduction& r : nest_.reductions) raw_[r.node] = 0;
}

Status Preparer::node(const NestNode& n) {
  NodeCode c;
  c.size = bytes(held_as(static_cast<std::uint32_t>(code_.nodes.size())));
  c.raw_size = bytes(n.dtype);
  c.access = n.access;
  const auto index = static_cast<std::uint32_t>(code_.nodes.size());
  if (is_complex(n.dtype)) return no_kernel(n.kind == NestNodeKind::Op ? n.op : Op::clone, n.dtype);
  switch (n.kind) {
    case NestNodeKind::Load:
      load(n, c);
      break;
    case NestNodeKind::Constant:
      c.kind = NodeRun::Fixed;
      constant(n, index);
      break;
    case NestNodeKind::Iota:
      c.kind = NodeRun::Iota;
      c.fn = find_cast(DType::I64, n.dtype);
      if (is_half(n.dtype)) c.then = find_cast(n.dtype, DType::F32);
      break;
    case NestNodeKind::Op:
      if (Status s = op_node(n, c); !s) return s;
  }
  code_.nodes.push_back(c);
  return ok();
}

void Preparer::constant(const NestNode& n, std::uint32_t index) {
  std::byte element[8] = {};
  std::memcpy(element, &n.bits, 8);
  if (is_half(n.dtype) && !raw_[index]) {
    std::byte wide[4];
    find_cast(n.dtype, DType::F32)(wide, element, nullptr, nullptr, 1);
    std::memcpy(element, wide, 4);
  }
  const std::size_t size = bytes(held_as(index)), at = code_.constants.size();
  code_.constants.resize(at + align64(static_cast<std::size_t>(window()) * size));
  for (std::int64_t i = 0; i < window(); ++i)
    std::memcpy(code_.constants.data() + at + static_cast<std::size_t>(i) * size, element, size);
  code_.fixed_constants.emplace_back(index, at);
}

void Preparer::load(const NestNode& n, NodeCode& c) {
  const AccessCode& a = code_.accesses[n.access];
  if (is_half(n.dtype) && !raw_[code_.nodes.size()]) c.fn = find_cast(n.dtype, DType::F32);
  if (is_picking(n)) {
    c.kind = NodeRun::Pick;
    c.has_mask = n.in[0] != kNoNode;
    for (std::uint32_t in : {n.in[0], n.in[1]})
      if (in != kNoNode) c.in[c.arity++] = in;
    return;
  }
  c.kind = (a.contiguous || code_.mode == NestMode::Scalar) && !c.fn ? NodeRun::InPlace : NodeRun::Gather;
}

Status Preparer::cast_node(DType from, DType to, NodeCode& c) {
  c.arity = 1;
  if (is_half(to)) {
    if (held(from) == DType::F32) {
      c.fn = find_rounding(to);
    } else {
      c.fn = find_cast(held(from), to);
      c.then = find_cast(to, DType::F32);
      c.through_temp = true;
    }
  } else {
    c.fn = find_cast(held(from), to);
  }
  return c.fn ? ok() : no_kernel(Op::cast, from);
}

// The same bits under another dtype of the same size. 16-bit floats leave and enter their f32 form.
void Preparer::bitcast_node(DType from, DType to, NodeCode& c) {
  c.arity = 1;
  if (is_half(from) && is_half(to)) {
    c.fn = find_cast(DType::F32, from);
    c.then = find_cast(to, DType::F32);
    c.through_temp = true;
  } else if (is_half(from)) {
    c.fn = find_cast(DType::F32, from);
  } else if (is_half(to)) {
    c.fn = find_cast(to, DType::F32);
  } else {
    c.fn = find_copy(size_of(to));
  }
}

Status Preparer::op_node(const NestNode& n, NodeCode& c) {
  c.kind = NodeRun::Op;
  const DType first = nest_.nodes[n.in[0]].dtype;
  c.in[0] = n.in[0];
  if (n.op == Op::cast) return cast_node(first, n.dtype, c);
  if (n.op == Op::bitcast) {
    if (size_of(first) != size_of(n.dtype))
      return Error{Code::Unsupported, "[bitcast] has no kernel between dtypes of different size"};
    bitcast_node(raw_[n.in[0]] ? DType::U16 : first, n.dtype, c);
    return ok();
  }
  for (std::uint8_t k = 0; k < 3 && n.in[k] != kNoNode; ++k) {
    c.in[k] = n.in[k];
    c.arity = static_cast<std::uint8_t>(k + 1);
  }
  const DType d = n.op == Op::select ? n.dtype : first;
  if (n.op == Op::nextafter && is_half(d)) {
    c.fn = d == DType::F16 ? &next_after_half<DType::F16> : &next_after_half<DType::BF16>;
    return ok();
  }
  c.fn = find_block_op(n.op, held(d));
  if (!c.fn) return no_kernel(n.op, d);
  if (is_half(n.dtype) && !is_exact_in_half(n.op)) c.then = find_rounding(n.dtype);
  return ok();
}

void Preparer::store(const Store& s, std::uint32_t access) {
  const DType d = nest_.nodes[s.node].dtype;
  code_.stores.push_back({s.node, access, is_half(d) && !raw_[s.node] ? find_cast(DType::F32, d) : nullptr, false});
}

Status Preparer::reduction(const Reduction& r, std::uint32_t access) {
  const DType d = nest_.nodes[r.node].dtype;
  ReductionCode c;
  c.node = r.node;
  c.access = access;
  c.size = bytes(held(d));
  c.convert = is_half(d) ? find_cast(DType::F32, d) : nullptr;
  c.fns = find_reduction(r.op, d);
  if (!c.fns.combine) return no_kernel(r.op, d);
  code_.reductions.push_back(c);
  return ok();
}

// A gather or iota that no loop outside the window moves, in a window that is never at another place of its chunked
// loop.
void Preparer::find_invariants() {
  for (std::uint32_t i = 0; i < code_.nodes.size(); ++i) {
    const NodeCode& n = code_.nodes[i];
    if (n.kind == NodeRun::Fixed) continue;
    bool once = (n.kind == NodeRun::Gather || n.kind == NodeRun::Iota) && code_.mode != NestMode::Scalar;
    if (once) {
      const std::vector<std::int64_t>& strides = code_.accesses[n.access].strides;
      for (std::uint32_t d = 0; d < code_.q; ++d) once = once && strides[d] == 0;
      once = once && (strides[code_.q] == 0 || code_.extents[code_.q] <= code_.chunk);
    }
    (once ? code_.once : code_.each_window).push_back(i);
  }
}

// An op may compute into the memory that its value is stored to where no block that is memory itself is read later: a
// load may be of the same memory (an op in place).
void Preparer::direct_stores() {
  std::uint32_t last_read = 0;
  for (std::uint32_t i = 0; i < code_.nodes.size(); ++i)
    for (std::uint8_t k = 0; k < code_.nodes[i].arity; ++k)
      if (code_.nodes[code_.nodes[i].in[k]].kind == NodeRun::InPlace) last_read = i;
  for (const ReductionCode& r : code_.reductions)
    if (code_.nodes[r.node].kind == NodeRun::InPlace) return;
  for (const StoreCode& s : code_.stores)
    if (code_.nodes[s.node].kind == NodeRun::InPlace) return;
  for (std::uint32_t k = 0; k < code_.stores.size(); ++k) {
    StoreCode& s = code_.stores[k];
    NodeCode& n = code_.nodes[s.node];
    const bool contiguous = code_.mode == NestMode::Scalar || code_.accesses[s.access].contiguous;
    if (n.kind != NodeRun::Op || s.node < last_read || s.convert || !contiguous || n.direct != kNoNode) continue;
    n.direct = k;
    s.is_direct = true;
  }
}

std::vector<std::uint32_t> Preparer::last_uses() const {
  const auto forever = static_cast<std::uint32_t>(code_.nodes.size());
  std::vector<std::uint32_t> last(code_.nodes.size(), 0);
  for (std::uint32_t i = 0; i < code_.nodes.size(); ++i) {
    last[i] = std::max(last[i], i);
    for (std::uint8_t k = 0; k < code_.nodes[i].arity; ++k) last[code_.nodes[i].in[k]] = i;
    if (code_.nodes[i].kind == NodeRun::Fixed) last[i] = forever;
  }
  for (const StoreCode& s : code_.stores) last[s.node] = forever;
  for (const ReductionCode& r : code_.reductions) last[r.node] = forever;
  for (std::uint32_t i : code_.once) last[i] = forever;
  return last;
}

// Scratch: pointers of nodes, offsets of accesses, loop counters, a temp block, reduction states, buffers. A buffer is
// free again after the last use of its node; the op of that use may write its result there.
void Preparer::layout() {
  std::size_t at = align64(code_.nodes.size() * sizeof(void*));
  code_.offsets = at;
  at += align64(code_.accesses.size() * sizeof(std::int64_t));
  code_.index = at;
  at += align64(2 * (code_.extents.size() + 1) * sizeof(std::int64_t));  // of the outer loops, and within a window
  const auto points = static_cast<std::size_t>(window());
  code_.temp = at;
  at += align64(points * 8);
  for (ReductionCode& r : code_.reductions) {
    // Rows: lanes and two trees of single elements. Columns: the group's sums and a tree of vectors.
    r.state = at;
    std::size_t levels = 1;
    for (std::int64_t n = code_.rows / kRowGroup; n > 0; n /= 2) ++levels;
    const std::size_t vector = align64(static_cast<std::size_t>(code_.column_chunk) * r.size);
    at += code_.mode == NestMode::Columns ? (levels + 2) * vector + align64(64)
                                          : align64(kReduceLanes * 8) + 4 * kMaxLevels * 8;
  }
  const std::vector<std::uint32_t> last = last_uses();
  std::vector<std::vector<std::uint32_t>> dying(code_.nodes.size() + 1);
  for (std::uint32_t i = 0; i < code_.nodes.size(); ++i) dying[last[i]].push_back(i);
  std::vector<std::size_t> free[9];     // by element size
  for (std::uint32_t i : code_.once) {  // filled before the first window: no other value's buffer ever
    code_.nodes[i].buffer = at;
    at += align64(points * code_.nodes[i].size);
  }
  std::vector<std::uint8_t> is_once(code_.nodes.size(), 0);
  for (std::uint32_t i : code_.once) is_once[i] = 1;
  const auto has_buffer = [&](const NodeCode& n) {
    return n.kind != NodeRun::InPlace && n.kind != NodeRun::Fixed && n.direct == kNoNode;
  };
  for (std::uint32_t i = 0; i < code_.nodes.size(); ++i) {
    NodeCode& n = code_.nodes[i];
    // Operands that end here are given up first, so that the op can work in place; a temp step can't.
    for (std::uint32_t d : dying[i])
      if (d != i && has_buffer(code_.nodes[d])) free[code_.nodes[d].size].push_back(code_.nodes[d].buffer);
    if (has_buffer(n) && !is_once[i]) {
      auto& list = free[n.size];
      if (list.empty()) {
        list.push_back(at);
        at += align64(points * n.size);
      }
      n.buffer = list.back();
      list.pop_back();
      if (last[i] == i) list.push_back(n.buffer);
    }
  }
  code_.scratch = at;
}

}  // namespace

void NestCodeDelete::operator()(const NestCode* code) const { delete code; }

Result<NestCodePtr> prepare(const Nest& nest) {
  auto* code = new NestCode;
  NestCodePtr owner(code);
  if (Status s = Preparer(nest, *code).run(); !s) return s.error();
  return Result<NestCodePtr>(std::move(owner));
}

std::size_t scratch_bytes(const NestCode& code) { return code.scratch; }

std::size_t bytes_of(const NestCode& code) {
  return sizeof code + code.constants.size() + code.nodes.size() * (sizeof(NodeCode) + 2 * sizeof(std::uint32_t)) +
         code.accesses.size() * (sizeof(AccessCode) + sizeof(std::int64_t) * code.extents.size()) +
         code.stores.size() * sizeof(StoreCode) + code.reductions.size() * sizeof(ReductionCode);
}

}  // namespace tfvm
