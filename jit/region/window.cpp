#include "jit/region/window.h"

#include <algorithm>
#include <type_traits>

namespace tfvm {

namespace {

template <std::size_t Size>
void gather_row(std::byte* out, const std::byte* in, std::int64_t stride, std::int64_t n) {
  using T = std::conditional_t<
      Size == 1, std::uint8_t,
      std::conditional_t<Size == 2, std::uint16_t, std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;
  auto* o = reinterpret_cast<T*>(out);
  const auto* x = reinterpret_cast<const T*>(in);
  if (stride == 0) {
    std::fill_n(o, n, *x);
  } else if (stride == 1 && n > 16) {
    std::memcpy(out, in, static_cast<std::size_t>(n) * Size);
  } else {
    for (std::int64_t i = 0; i < n; ++i) o[i] = x[i * stride];
  }
}

template <std::size_t Size>
void scatter_row(std::byte* out, const std::byte* in, std::int64_t stride, std::int64_t n) {
  const auto step = stride * static_cast<std::int64_t>(Size);
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(out + i * step, in + static_cast<std::size_t>(i) * Size, Size);
}

// `mask`, `index`: null where there is none.
template <std::size_t Size>
void pick_row(std::byte* out, const std::byte* base, std::int64_t at, std::int64_t stride, std::int64_t n,
              const std::uint8_t* mask, const std::int32_t* index) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::byte* to = out + static_cast<std::size_t>(i) * Size;
    if (mask && !mask[i])
      std::memset(to, 0, Size);
    else
      std::memcpy(to, base + (at + i * stride + (index ? index[i] : 0)) * static_cast<std::int64_t>(Size), Size);
  }
}

using RowCopy = void (*)(std::byte*, const std::byte*, std::int64_t, std::int64_t);
constexpr RowCopy kGather[] = {nullptr, gather_row<1>, gather_row<2>, nullptr,      gather_row<4>,
                               nullptr, nullptr,       nullptr,       gather_row<8>};
constexpr RowCopy kScatter[] = {nullptr, scatter_row<1>, scatter_row<2>, nullptr,       scatter_row<4>,
                                nullptr, nullptr,        nullptr,        scatter_row<8>};
using RowPick = void (*)(std::byte*, const std::byte*, std::int64_t, std::int64_t, std::int64_t, const std::uint8_t*,
                         const std::int32_t*);
constexpr RowPick kPick[] = {nullptr, pick_row<1>, pick_row<2>, nullptr,    pick_row<4>,
                             nullptr, nullptr,     nullptr,     pick_row<8>};

}  // namespace

WindowRun::WindowRun(const NestCode& code, std::byte* const* bases, std::byte* scratch, NestWatch* watch, NestPart part)
    : code_(code),
      bases_(bases),
      scratch_(scratch),
      ptr_(reinterpret_cast<void**>(scratch)),
      offset_(reinterpret_cast<std::int64_t*>(scratch + code.offsets)),
      watch_(watch),
      weight_(std::min(kBlockCredit * code.work() * code.block / kBlock, kMostCredit)) {
  for (std::size_t a = 0; a < code.accesses.size(); ++a) offset_[a] = code.accesses[a].offset;
  if (!code.extents.empty()) end_ = code.extents[0];
  if (part.count > 1) {
    begin_ = end_ * part.index / part.count;
    end_ = end_ * (part.index + 1) / part.count;
    move(0, begin_);
  }
  for (const auto& [node, at] : code.fixed_constants) ptr_[node] = const_cast<std::byte*>(code.constants.data() + at);
  if (code.once.empty() || code.mode == NestMode::Nothing) return;
  const std::int64_t steps = std::min(code.chunk, code.extents[code.q]);
  for (std::uint32_t i : code.once) node(i, steps, steps * code.inside);
}

// Calls row(offset, count, position) for runs along the last loop of a window of `a` that starts at element `at`.
template <class Row>
void WindowRun::for_rows(const AccessCode& a, std::int64_t at, std::int64_t steps, Row row) {
  const auto last = static_cast<std::uint32_t>(code_.extents.size() - 1);
  if (code_.q == last) return row(at, steps, 0);
  auto* index = reinterpret_cast<std::int64_t*>(scratch_ + code_.index) + code_.extents.size() + 1;
  const std::int64_t run = code_.extents[last], total = steps * code_.inside;
  for (std::uint32_t d = code_.q; d < last; ++d) index[d] = 0;
  for (std::int64_t position = 0; position < total; position += run) {
    row(at, run, position);
    for (std::uint32_t d = last; d-- > code_.q;) {
      at += a.strides[d];
      if (++index[d] < code_.extents[d] || d == code_.q) break;
      at -= a.strides[d] * code_.extents[d];
      index[d] = 0;
    }
  }
}

void WindowRun::gather(const AccessCode& a, std::int64_t from, std::int64_t steps, std::byte* out) {
  const RowCopy copy = kGather[a.size];
  for_rows(a, from, steps, [&](std::int64_t at, std::int64_t n, std::int64_t position) {
    copy(out + position * a.size, memory(a, at), a.strides.back(), n);
  });
}

// An operand's elements may be where those of the result go: each is read before its own is written.
void WindowRun::pick(const NodeCode& c, std::uint32_t i, std::int64_t steps, std::int64_t n) {
  const AccessCode& a = code_.accesses[c.access];
  const auto* mask = c.has_mask ? static_cast<const std::uint8_t*>(ptr_[c.in[0]]) : nullptr;
  const auto* index = c.arity > c.has_mask ? static_cast<const std::int32_t*>(ptr_[c.in[c.has_mask]]) : nullptr;
  std::byte* out = scratch_ + c.buffer;
  std::byte* to = c.fn ? scratch_ + code_.temp : out;
  const auto row = [&](std::int64_t at, std::int64_t count, std::int64_t position) {
    kPick[a.size](to + position * a.size, bases_[a.base], at, a.strides.empty() ? 0 : a.strides.back(), count,
                  mask ? mask + position : nullptr, index ? index + position : nullptr);
  };
  if (code_.mode == NestMode::Scalar)
    row(offset_[c.access], 1, 0);
  else
    for_rows(a, offset_[c.access], steps, row);
  if (c.fn) c.fn(out, to, nullptr, nullptr, n);
  ptr_[i] = out;
}

void WindowRun::scatter(const AccessCode& a, std::int64_t to, std::int64_t steps, const std::byte* in) {
  const RowCopy copy = kScatter[a.size];
  for_rows(a, to, steps, [&](std::int64_t at, std::int64_t n, std::int64_t position) {
    copy(memory(a, at), in + position * a.size, a.strides.back(), n);
  });
}

void WindowRun::iota(const AccessCode& a, std::int64_t from, std::int64_t steps, std::int64_t* out) {
  for_rows(a, from, steps, [&](std::int64_t at, std::int64_t n, std::int64_t position) {
    for (std::int64_t i = 0; i < n; ++i) out[position + i] = at + i * a.strides.back();
  });
}

void WindowRun::run_op(const NodeCode& c, std::uint32_t i, std::int64_t n) {
  void* out = scratch_ + c.buffer;
  if (c.direct != kNoNode) {
    const std::uint32_t access = code_.stores[c.direct].access;
    out = memory(code_.accesses[access], offset_[access]);
  }
  void* first = c.through_temp ? scratch_ + code_.temp : out;
  c.fn(first, ptr_[c.in[0]], ptr_[c.in[1]], ptr_[c.in[2]], n);
  if (c.then) c.then(out, first, nullptr, nullptr, n);
  ptr_[i] = out;
}

void WindowRun::node(std::uint32_t i, std::int64_t steps, std::int64_t n) {
  const NodeCode& c = code_.nodes[i];
  switch (c.kind) {
    case NodeRun::Fixed:
      return;
    case NodeRun::Op:
      return run_op(c, i, n);
    case NodeRun::InPlace:
      ptr_[i] = memory(code_.accesses[c.access], offset_[c.access]);
      return;
    case NodeRun::Pick:
      return pick(c, i, steps, n);
    case NodeRun::Gather: {
      const AccessCode& a = code_.accesses[c.access];
      std::byte* out = scratch_ + c.buffer;
      const std::byte* raw = memory(a, offset_[c.access]);
      if (!a.contiguous) {
        std::byte* to = c.fn ? scratch_ + code_.temp : out;
        gather(a, offset_[c.access], steps, to);
        raw = to;
      }
      if (c.fn) c.fn(out, raw, nullptr, nullptr, n);
      ptr_[i] = out;
      return;
    }
    case NodeRun::Iota: {
      auto* places = reinterpret_cast<std::int64_t*>(scratch_ + code_.temp);
      std::byte* out = scratch_ + c.buffer;
      iota(code_.accesses[c.access], offset_[c.access], steps, places);
      c.fn(out, places, nullptr, nullptr, n);
      // Widening in place goes from the back, since elements grow.
      if (c.then)
        for (std::int64_t k = n; k-- > 0;) c.then(out + 4 * k, out + 2 * k, nullptr, nullptr, 1);
      ptr_[i] = out;
    }
  }
}

void WindowRun::store(const StoreCode& s, std::int64_t steps, std::int64_t n) {
  if (s.is_direct) return;
  const AccessCode& a = code_.accesses[s.access];
  const auto* in = static_cast<const std::byte*>(ptr_[s.node]);
  std::byte* to = memory(a, offset_[s.access]);
  if (a.contiguous) {
    if (s.convert)
      s.convert(to, in, nullptr, nullptr, n);
    else
      std::memmove(to, in, static_cast<std::size_t>(n) * a.size);
    return;
  }
  if (s.convert) {
    s.convert(scratch_ + code_.temp, in, nullptr, nullptr, n);
    in = scratch_ + code_.temp;
  }
  scatter(a, offset_[s.access], steps, in);
}

void WindowRun::evaluate(std::int64_t steps) {
  const std::int64_t n = steps * code_.inside;
  for (std::uint32_t i : code_.each_window) node(i, steps, n);
  for (const StoreCode& s : code_.stores) store(s, steps, n);
}

// One point: no strides matter. Loads are memory itself but for 16-bit floats; iota is its offset.
void WindowRun::evaluate_scalar() {
  for (std::uint32_t i = 0; i < code_.nodes.size(); ++i) {
    const NodeCode& c = code_.nodes[i];
    if (c.kind == NodeRun::Op) {
      run_op(c, i, 1);
    } else if (c.kind == NodeRun::InPlace) {
      ptr_[i] = memory(code_.accesses[c.access], offset_[c.access]);
    } else if (c.kind == NodeRun::Gather) {
      c.fn(scratch_ + c.buffer, memory(code_.accesses[c.access], offset_[c.access]), nullptr, nullptr, 1);
      ptr_[i] = scratch_ + c.buffer;
    } else if (c.kind == NodeRun::Pick) {
      pick(c, i, 1, 1);
    } else if (c.kind == NodeRun::Iota) {
      std::byte narrow[8];
      c.fn(c.then ? narrow : scratch_ + c.buffer, &offset_[c.access], nullptr, nullptr, 1);
      if (c.then) c.then(scratch_ + c.buffer, narrow, nullptr, nullptr, 1);
      ptr_[i] = scratch_ + c.buffer;
    }
  }
  for (const StoreCode& s : code_.stores) {
    if (s.is_direct) continue;
    const AccessCode& a = code_.accesses[s.access];
    if (s.convert)
      s.convert(memory(a, offset_[s.access]), ptr_[s.node], nullptr, nullptr, 1);
    else
      std::memcpy(memory(a, offset_[s.access]), ptr_[s.node], a.size);
  }
}

}  // namespace tfvm
