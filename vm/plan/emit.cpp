#include "vm/plan/emit.h"

#include <algorithm>
#include <cstring>

#include "jit/region/build.h"

namespace tfvm {

namespace {

std::int64_t bytes(const Access& a, std::int64_t elements) { return elements * size_of(a.dtype); }

template <class Fn>
void for_each_read(const FuseItem& item, Fn fn) {
  if (!item.nest) {
    for (std::uint32_t b : item.reads) fn(b);
    return;
  }
  for (const NestNode& n : item.nest->nodes)
    if (n.kind == NestNodeKind::Load) fn(item.nest->accesses[n.access].base);
}

template <class Fn>
void for_each_write(const FuseItem& item, Fn fn) {
  if (!item.nest) {
    for (std::uint32_t b : item.writes) fn(b);
    return;
  }
  for (const Store& s : item.nest->stores) fn(s.to.base);
  for (const Reduction& r : item.nest->reductions) fn(r.to.base);
}

}  // namespace

Emitter::Emitter(const Tables& t, const FlatBody& flat, Lowered lowered, std::vector<FuseItem> items, Plan& plan,
                 const PlanLookup& lookup)
    : t_(t), flat_(flat), low_(std::move(lowered)), items_(std::move(items)), plan_(plan), lookup_(lookup) {
  const std::size_t n = low_.bases.size();
  base_slot_.assign(n, kNoIndex);
  pool_at_.assign(n, -1);
  local_.assign(n, kNoIndex);
  writer_.assign(n, 0);
  last_read_.assign(n, 0);
}

Address Emitter::slot(std::int64_t bytes, std::uint32_t first, std::uint32_t last) {
  slots_.push_back({bytes, first, last});
  return {kUnplaced + static_cast<std::uint32_t>(slots_.size() - 1), 0};
}

void Emitter::find_lifetimes() {
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    for_each_write(items_[i], [&](std::uint32_t b) { writer_[b] = i + 1; });
    for_each_read(items_[i], [&](std::uint32_t b) { last_read_[b] = i + 1; });
  }
  for (std::uint32_t b = 0; b < low_.bases.size(); ++b) {
    if (low_.bases[b].kind != PlanBase::Kind::Slot) continue;
    if (writer_[b] == 0 && low_.bases[b].bytes > 0) continue;  // fused away
    const std::uint32_t first = std::max(writer_[b], 1u) - 1;
    base_slot_[b] = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back({low_.bases[b].bytes, first, std::max(first + 1, last_read_[b]) - 1});
  }
}

Address Emitter::pool_place(std::uint32_t base) {
  if (pool_at_[base] < 0) {
    pool_bytes_ = align_up(pool_bytes_, low_.bases[base].bytes < kAlignment ? 16 : kAlignment);
    pool_at_[base] = pool_bytes_;
    pool_bytes_ += low_.bases[base].bytes;
    pool_bases_.push_back(base);
  }
  return {kPoolRoot, pool_at_[base]};
}

Address Emitter::base_place(std::uint32_t base) {
  const PlanBase& b = low_.bases[base];
  switch (b.kind) {
    case PlanBase::Kind::Param:
      return {kFirstParam + b.index, 0};
    case PlanBase::Kind::Const:
      return pool_place(base);
    case PlanBase::Kind::Result:
      return {plan_.first_result() + b.index, 0};
    case PlanBase::Kind::Slot:
      break;
  }
  return base_slot_[base] == kNoIndex ? Address{kFrameRoot, 0} : Address{kUnplaced + base_slot_[base], 0};
}

Address Emitter::place(const Access& a) {
  Address p = base_place(a.base);
  p.offset += bytes(a, a.offset);
  return p;
}

Addresses Emitter::places(std::span<const Access> list) {
  const Addresses out{static_cast<std::uint32_t>(plan_.places.size()), static_cast<std::uint32_t>(list.size())};
  for (const Access& a : list) plan_.places.push_back(place(a));
  return out;
}

Addresses Emitter::result_places(const ItemSource& s) {
  const Addresses out{static_cast<std::uint32_t>(plan_.places.size()), static_cast<std::uint32_t>(s.out.size())};
  for (std::uint32_t b : s.out) plan_.places.push_back(base_place(b));
  return out;
}

PlanRef Emitter::target(FunctionId f) {
  PlanRef p = lookup_(f);
  plan_.depth = std::max(plan_.depth, p->depth + 1);
  return p;
}

Status Emitter::emit_nest(Nest nest) {
  std::vector<std::uint32_t> bases;
  const auto local = [&](std::uint32_t base) {
    if (local_[base] == kNoIndex) {
      local_[base] = static_cast<std::uint32_t>(bases.size());
      bases.push_back(base);
    }
    return local_[base];
  };
  std::vector<std::uint8_t> loaded(nest.accesses.size(), 0);
  for (const NestNode& n : nest.nodes)
    if (n.kind == NestNodeKind::Load) loaded[n.access] = 1;
  for (std::size_t k = 0; k < nest.accesses.size(); ++k)
    nest.accesses[k].base = loaded[k] ? local(nest.accesses[k].base) : 0;
  for (Store& s : nest.stores) s.to.base = local(s.to.base);
  for (Reduction& r : nest.reductions) r.to.base = local(r.to.base);

  NestStep step;
  step.bases = {static_cast<std::uint32_t>(plan_.places.size()), static_cast<std::uint32_t>(bases.size())};
  for (std::uint32_t b : bases) {
    plan_.places.push_back(base_place(b));
    local_[b] = kNoIndex;
  }
  if (bases.size() > NestStep::kMaxBases) return Error(Code::Internal, "a loop nest has too many bases");
  Result<NestCodePtr> code = prepare(nest);
  if (!code) return std::move(code).error();
  step.code = *std::move(code);
  step.scratch = work(static_cast<std::int64_t>(scratch_bytes(*step.code)));
  plan_.steps.push_back({StepKind::Nest, static_cast<std::uint32_t>(plan_.nests.size())});
  plan_.nests.push_back(std::move(step));
  return ok();
}

void Emitter::emit_kernel(const ItemSource& s, Op op) {
  KernelStep k;
  k.kernel = s.kernel;
  k.op = op;
  k.inputs = static_cast<std::uint32_t>(s.in.size());
  const Instr in = flat_.body.instr(s.instr);
  std::vector<Access> all = s.in;
  std::vector<ValueId> values(in.operands.begin(), in.operands.end());
  for (std::uint32_t r = 0; r < in.num_results; ++r) {
    const Type& type = t_.types[flat_.body.type(in.result(r))];
    all.push_back(row_major(s.out[r], type.dtype, type.dims));
    values.push_back(in.result(r));
  }
  for (std::size_t v = 0; v < all.size(); ++v) {
    const Dims dims = t_.types.dims(flat_.body.type(values[v]));
    k.shape.insert(k.shape.end(), dims.begin(), dims.end());
    k.shape.insert(k.shape.end(), all[v].strides.begin(), all[v].strides.end());
  }
  const std::int64_t* at = k.shape.data();
  for (const Access& a : all) {
    const auto rank = static_cast<std::int32_t>(a.strides.size());
    k.views.push_back({nullptr, a.dtype, rank, at, at + rank});
    at += 2 * rank;
  }
  k.places = places(all);
  const auto own = align_up(static_cast<std::int64_t>(k.kernel.scratch_bytes));
  k.scratch = work(own + static_cast<std::int64_t>(k.views.size() * sizeof(View)));
  plan_.steps.push_back({StepKind::Kernel, static_cast<std::uint32_t>(plan_.kernels.size())});
  plan_.kernels.push_back(std::move(k));
}

// May the item that writes base `to` do so in the memory of `from`, which it reads last?
bool Emitter::updates_in_place(const FuseItem& item, std::uint32_t from, std::uint32_t to) const {
  if (!item.nest) {
    const ItemSource& s = low_.sources[item.origins.front()];
    if (s.instr >= flat_.body.num_instrs()) return false;
    const Op op = flat_.body.ops[s.instr];
    if (info(op).kind == OpKind::Control) return control_in_place(s, from, to);
    if (op != Op::dynamic_update_slice && op != Op::scatter_along) return false;
    const Dims dims = t_.types.dims(flat_.body.type(flat_.body.instr(s.instr).operands[0]));
    return s.in[0].base == from && s.in[0].offset == 0 && is_dense(s.in[0], dims) && s.out[0] == to &&
           std::none_of(s.in.begin() + 1, s.in.end(), [&](const Access& a) { return a.base == from; });
  }
  // A block is stored when its ops are done, but what is only passed on, or reduced, is read from memory after that.
  if (item.nest->has_reduction()) return false;
  const Access* out = nullptr;
  for (const Store& s : item.nest->stores) {
    const NestNode& n = item.nest->nodes[s.node];
    if (n.kind == NestNodeKind::Load && item.nest->accesses[n.access].base == from) return false;
    if (s.to.base == to) out = &s.to;
  }
  if (!out) return false;
  return std::ranges::all_of(item.nest->nodes, [&](const NestNode& n) {
    if (n.kind != NestNodeKind::Load || item.nest->accesses[n.access].base != from) return true;
    const Access& a = item.nest->accesses[n.access];
    return a.dtype == out->dtype && a.offset == out->offset && a.strides == out->strides;
  });
}

// Which parameters and results may be one memory: the result is written when the parameter has been read for the last
// time, or by the very step that reads it, element by element.
void Emitter::find_sharing() {
  plan_.param_last_read.assign(plan_.params.size(), 0);
  plan_.result_write.assign(plan_.results.size(), 0);
  for (const PassedParam& p : low_.passed) last_read_[p.param] = kNoIndex;  // the first bases are the parameters
  for (std::uint32_t b = 0; b < low_.bases.size(); ++b) {
    const PlanBase& base = low_.bases[b];
    if (base.kind == PlanBase::Kind::Param) plan_.param_last_read[base.index] = last_read_[b];
    if (base.kind != PlanBase::Kind::Result || writer_[b] == 0) continue;
    plan_.result_write[base.index] = writer_[b];
    const FuseItem& item = items_[writer_[b] - 1];
    for_each_read(item, [&](std::uint32_t from) {
      const PlanBase& p = low_.bases[from];
      if (p.kind == PlanBase::Kind::Param && last_read_[from] == writer_[b] && p.bytes == base.bytes &&
          updates_in_place(item, from, b))
        plan_.in_place.emplace_back(p.index, base.index);
    });
  }
}

Status Emitter::run() {
  find_lifetimes();
  find_sharing();
  for (const PassedParam& p : low_.passed)
    plan_.result_copies.push_back({p.param, p.result, plan_.params[p.param].bytes});
  for (step_ = 0; step_ < items_.size(); ++step_) {
    FuseItem& item = items_[step_];
    const ItemSource& source = low_.sources[item.origins.back()];
    Status s = item.nest ? emit_nest(*std::move(item.nest)) : emit_opaque(source);
    if (!s) {
      Error e = std::move(s).error();
      e.loc = t_.debugs.find_loc(source.origin.debug, source.origin.instr);
      return e;
    }
    plan_.origins.push_back(source.origin);
  }
  return finish();
}

Status Emitter::finish() {
  const Placement placed = tfvm::place(slots_, static_cast<std::int64_t>(plan_.num_roots() * sizeof(std::byte*)));
  for_each_place(plan_, [&](Address& p) {
    if (p.root < kUnplaced) return;
    p.offset += placed.offsets[p.root - kUnplaced];
    p.root = kFrameRoot;
  });
  plan_.frame_bytes = align_up(placed.total);
  if (pool_bytes_ == 0) return ok();
  plan_.pool = StorageRef::allocate(nullptr, pool_bytes_);
  if (!plan_.pool) return Error(Code::Memory, "the constants of a plan can't be allocated");
  for (std::uint32_t b : pool_bases_) {
    const Constant& c = t_.consts[static_cast<ConstId>(low_.bases[b].index)];
    if (!c.bytes.empty()) std::memcpy(plan_.pool->data() + pool_at_[b], c.bytes.data(), c.bytes.size());
  }
  return ok();
}

}  // namespace tfvm
