#include "vm/plan/lookup.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "vm/kernels/index_modes.h"
#include "vm/kernels/strided.h"
#include "vm/plan/nest_maker.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMostPlaces = 1 << 20;

bool contains(Ints list, std::size_t k) { return std::ranges::find(list, static_cast<std::int64_t>(k)) != list.end(); }

// The loops that the dims of x (and of the indices) are, in their order.
void windows_of(const AttrTable& attrs, AttrId at, const Access& x, const Access& idx, Lookup& l) {
  const Ints offset = attrs.get_ints(at, Key::offset_dims), dropped = attrs.get_ints(at, Key::collapsed_slice_dims);
  std::size_t from_x = 0, from_idx = 0;
  for (std::size_t d = 0; d < l.loops.size(); ++d) {
    l.is_batch[d] = !contains(offset, d);
    if (l.is_batch[d]) {
      if (from_idx == static_cast<std::size_t>(l.vectors.vector_dim)) ++from_idx;
      l.table.strides[d] = idx.strides[from_idx++];
    } else {
      while (contains(dropped, from_x)) ++from_x;
      l.element.strides[d] = x.strides[from_x++];
    }
  }
}

// The place that an index says in one dim of x, as i32; `mask`, in mode "fill", loses what is outside.
std::uint32_t place(NestMaker& b, const Lookup& l, std::size_t entry, std::uint32_t* mask) {
  const std::int64_t bound = l.vectors.entries[entry].bound, stride = l.strides[entry];
  Access table = l.table;
  table.offset += static_cast<std::int64_t>(entry) * l.step;
  DType d = table.dtype;
  std::uint32_t i = b.load(table);
  const auto narrow = [&] {
    if (d != DType::I32) i = b.op(Op::cast, DType::I32, i, kNoNode);
    d = DType::I32;
  };
  if (l.mode == "error") narrow();  // what was let pass is small
  const std::uint32_t zero = b.number(d, 0);
  if (l.mode == "error" && l.vectors.wraps)
    i = b.op(Op::select, d, b.op(Op::lt, DType::Bool, i, zero), b.op(Op::add, d, i, b.number(d, bound)), i);
  if (l.mode == "fill") {
    *mask = b.both(Op::and_, DType::Bool, *mask, b.op(Op::ge, DType::Bool, i, zero));
    *mask = b.op(Op::and_, DType::Bool, *mask, b.op(Op::lt, DType::Bool, i, b.number(d, bound)));
  } else {
    i = b.op(Op::min, d, b.op(Op::max, d, i, zero), b.number(d, bound - 1));
  }
  narrow();
  return stride == 1 ? i : b.op(Op::mul, d, i, b.number(d, stride));
}

}  // namespace

std::int64_t Lookup::row_bytes() const {
  std::int64_t run = 1;
  for (std::size_t d = loops.size(); d-- > 0 && !is_batch[d] && (loops[d] == 1 || element.strides[d] == run);)
    run *= loops[d];
  return run * size_of(element.dtype);
}

Lookup lookup_of(const AttrTable& attrs, const Instr& in, const ItemSource& s, Dims x, Dims idx, Dims out) {
  Lookup l{index_vectors(attrs, in.op, in.attrs, x, idx),
           attrs.get_str(in.attrs, Key::mode),
           {out.begin(), out.end()},
           std::vector<std::uint8_t>(out.size(), 1),
           s.in[0],
           s.in[1],
           {}};
  for (const IndexVectors::Entry& e : l.vectors.entries)
    l.strides.push_back(s.in[0].strides[static_cast<std::size_t>(e.axis)]);
  const auto vector_dim = static_cast<std::size_t>(l.vectors.vector_dim);
  if (vector_dim < idx.size()) l.step = s.in[1].strides[vector_dim];
  if (in.op == Op::take_along) {
    l.element.strides[static_cast<std::size_t>(l.vectors.entries[0].axis)] = 0;
    return l;
  }
  l.element.strides = l.table.strides = std::vector<std::int64_t>(out.size(), 0);
  if (in.op == Op::gather) {
    windows_of(attrs, in.attrs, s.in[0], s.in[1], l);
    return l;
  }
  const auto axis = static_cast<std::size_t>(l.vectors.entries[0].axis), behind = axis + idx.size();
  for (std::size_t d = 0; d < out.size(); ++d) {
    l.is_batch[d] = d >= axis && d < behind;
    if (l.is_batch[d])
      l.table.strides[d] = s.in[1].strides[d - axis];
    else
      l.element.strides[d] = s.in[0].strides[d < axis ? d : d - idx.size() + 1];
  }
  return l;
}

std::optional<std::vector<std::byte>> places_of(const Lookup& l, const std::byte* indices) {
  std::vector<std::int64_t> dims, strides;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < l.loops.size(); ++d) {
    if (!l.is_batch[d]) continue;
    dims.push_back(l.loops[d]);
    strides.push_back(l.table.strides[d]);
    count = std::min(count * l.loops[d], kMostPlaces + 1);
  }
  if (count > kMostPlaces || dims.size() > kMaxRank) return std::nullopt;
  std::vector<std::byte> places(static_cast<std::size_t>(count) * 4);
  std::byte* to = places.data();
  Walk<1> w(static_cast<std::int32_t>(dims.size()), dims.data());
  w.strides(0, strides.data());
  for (; w.more(); w.next(), to += 4) {
    std::int64_t place = 0;
    for (std::size_t k = 0; k < l.strides.size(); ++k) {
      const std::int64_t element = l.table.offset + w.at(0) + static_cast<std::int64_t>(k) * l.step;
      const std::int64_t bound = l.vectors.entries[k].bound;
      std::int64_t i = load_index(l.table.dtype, indices + element * size_of(l.table.dtype));
      if (l.table.dtype == DType::U64 && i < 0) i = std::numeric_limits<std::int64_t>::max();
      if (l.mode == "clip") i = std::clamp<std::int64_t>(i, 0, bound - 1);
      if (l.mode == "error" && l.vectors.wraps && i < 0) i += bound;
      if (i < 0 || i >= bound) return std::nullopt;
      place += i * l.strides[k];
    }
    const auto narrow = static_cast<std::int32_t>(place);
    std::memcpy(to, &narrow, 4);
  }
  return places;
}

Nest known_nest(const Lookup& l, std::uint32_t places, const Access& out) {
  NestMaker b(l.loops, out);
  Access table{places, DType::I32, 0, std::vector<std::int64_t>(l.loops.size(), 0)};
  std::int64_t stride = 1;
  for (std::size_t d = l.loops.size(); d-- > 0;) {
    if (!l.is_batch[d]) continue;
    table.strides[d] = stride;
    stride *= l.loops[d];
  }
  return b.finish(b.load(l.element, kNoNode, b.load(table)));
}

std::optional<Nest> computed_nest(const Lookup& l, const Access& out) {
  if (l.table.dtype != DType::I32 && l.table.dtype != DType::I64) return std::nullopt;
  NestMaker b(l.loops, out);
  std::uint32_t index = kNoNode, mask = kNoNode;
  for (std::size_t k = 0; k < l.strides.size(); ++k) index = b.both(Op::add, DType::I32, index, place(b, l, k, &mask));
  const DType d = l.element.dtype;
  const std::uint32_t found = b.load(l.element, mask, index);
  if (mask == kNoNode || !is_float(d)) return b.finish(found);
  std::byte nothing[16] = {};
  outside_element(d, nothing);
  std::uint64_t bits = 0;
  std::memcpy(&bits, nothing, static_cast<std::size_t>(size_of(d)));
  return b.finish(b.op(Op::select, d, mask, found, b.constant(d, bits)));
}

}  // namespace tfvm
