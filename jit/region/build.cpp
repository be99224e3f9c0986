#include "jit/region/build.h"

#include <algorithm>

namespace tfvm {

namespace {

Nest over(Dims dims) {
  Nest n;
  n.extents.assign(dims.begin(), dims.end());
  n.reduced.assign(dims.size(), 0);
  return n;
}

std::uint32_t add(Nest& n, NestNode node) {
  n.nodes.push_back(node);
  return static_cast<std::uint32_t>(n.nodes.size() - 1);
}

std::uint32_t add_access(Nest& n, NestNodeKind kind, const Access& a) {
  for (std::uint32_t k = 0; k < n.nodes.size(); ++k)
    if (n.nodes[k].kind == kind && n.accesses[n.nodes[k].access] == a) return k;
  n.accesses.push_back(a);
  NestNode node;
  node.kind = kind;
  node.dtype = a.dtype;
  node.access = static_cast<std::uint32_t>(n.accesses.size() - 1);
  return add(n, node);
}

std::uint32_t load(Nest& n, const Access& a) { return add_access(n, NestNodeKind::Load, a); }

Access with_strides(const Access& a, std::vector<std::int64_t> strides, std::int64_t offset) {
  return {a.base, a.dtype, offset, std::move(strides)};
}

Access sliced(const Access& x, Dims in_dims, Dims out_dims, Ints start, Ints stride) {
  std::vector<std::int64_t> strides(in_dims.size());
  std::int64_t offset = x.offset;
  for (std::size_t k = 0; k < in_dims.size(); ++k) {
    strides[k] = out_dims[k] > 1 ? x.strides[k] * stride[k] : x.strides[k];
    if (out_dims[k] > 0) offset += start[k] * x.strides[k];
  }
  return with_strides(x, std::move(strides), offset);
}

Access reversed(const Access& x, Dims dims, Ints axes) {
  Access y = x;
  for (std::int64_t axis : axes) {
    const auto k = static_cast<std::size_t>(axis);
    if (dims[k] > 0) y.offset += (dims[k] - 1) * x.strides[k];
    y.strides[k] = -x.strides[k];
  }
  return y;
}

Access broadcast(const Access& x, Dims in_dims, Dims out_dims) {
  std::vector<std::int64_t> strides(out_dims.size(), 0);
  const std::size_t lead = out_dims.size() - in_dims.size();
  for (std::size_t k = 0; k < in_dims.size(); ++k)
    if (in_dims[k] == out_dims[lead + k]) strides[lead + k] = x.strides[k];
  return with_strides(x, std::move(strides), x.offset);
}

std::vector<std::int64_t> row_major_strides(Dims dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t k = dims.size(); k-- > 0;) {
    strides[k] = stride;
    stride *= std::max<std::int64_t>(dims[k], 1);
  }
  return strides;
}

bool is_row_major(Dims dims, std::span<const std::int64_t> strides) {
  if (std::ranges::find(dims, 0) != dims.end()) return true;
  std::int64_t expected = 1;
  for (std::size_t k = dims.size(); k-- > 0;) {
    if (dims[k] != 1 && strides[k] != expected) return false;
    expected *= dims[k];
  }
  return true;
}

}  // namespace

Access row_major(std::uint32_t base, DType dtype, Dims dims) { return {base, dtype, 0, row_major_strides(dims)}; }

// Runs of old dims that are contiguous among themselves are cut into new dims (numpy's attempt_nocopy_reshape).
std::optional<std::vector<std::int64_t>> reshape_strides(Dims dims, std::span<const std::int64_t> strides, Dims shape) {
  std::vector<std::int64_t> out = row_major_strides(shape);
  if (is_row_major(dims, strides)) return out;
  std::vector<std::int64_t> old_dims, old_strides;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] == 1) continue;
    old_dims.push_back(dims[k]);
    old_strides.push_back(strides[k]);
  }
  std::size_t i = 0, j = 0;
  while (i < old_dims.size() && j < shape.size()) {
    std::size_t i_end = i + 1, j_end = j + 1;
    std::int64_t n = old_dims[i], m = shape[j];
    while (n != m) {
      if (n < m) {
        n *= old_dims[i_end++];
      } else {
        m *= shape[j_end++];
      }
    }
    for (std::size_t k = i; k + 1 < i_end; ++k)
      if (old_strides[k] != old_strides[k + 1] * old_dims[k + 1]) return std::nullopt;
    std::int64_t stride = old_strides[i_end - 1];
    for (std::size_t k = j_end; k-- > j;) {
      out[k] = stride;
      stride *= shape[k];
    }
    i = i_end;
    j = j_end;
  }
  return out;
}

std::optional<Access> view_access(const AttrTable& attrs, Op op, AttrId at, Dims in_dims, Dims out_dims,
                                  const Access& in) {
  switch (op) {
    case Op::reshape: {
      auto strides = reshape_strides(in_dims, in.strides, out_dims);
      if (!strides) return std::nullopt;
      return with_strides(in, *std::move(strides), in.offset);
    }
    case Op::broadcast_to:
      return broadcast(in, in_dims, out_dims);
    case Op::transpose: {
      std::vector<std::int64_t> strides;
      for (std::int64_t axis : attrs.get_ints(at, Key::perm))
        strides.push_back(in.strides[static_cast<std::size_t>(axis)]);
      return with_strides(in, std::move(strides), in.offset);
    }
    case Op::slice:
      return sliced(in, in_dims, out_dims, attrs.get_ints(at, Key::start), attrs.get_ints(at, Key::stride));
    case Op::reverse:
      return reversed(in, in_dims, attrs.get_ints(at, Key::axes));
    case Op::clone:
    case Op::name:
    case Op::stop_gradient:
    case Op::optimization_barrier:
      return in;
    default:
      return std::nullopt;
  }
}

Nest elementwise_nest(Op op, DType dtype, Dims dims, std::span<const Access> operands, const Access& out) {
  Nest n = over(dims);
  NestNode node;
  node.op = op;
  node.dtype = dtype;
  for (std::size_t k = 0; k < operands.size(); ++k) node.in[k] = load(n, operands[k]);
  const std::uint32_t value = add(n, node);
  n.stores.push_back({value, out});
  return n;
}

Nest copy_nest(Dims dims, const Access& in, const Access& out) {
  Nest n = over(dims);
  const std::uint32_t value = load(n, in);
  n.stores.push_back({value, out});
  return n;
}

Nest fill_nest(Dims dims, std::uint64_t bits, const Access& out) {
  Nest n = over(dims);
  NestNode node;
  node.kind = NestNodeKind::Constant;
  node.dtype = out.dtype;
  node.bits = bits;
  const std::uint32_t value = add(n, node);
  n.stores.push_back({value, out});
  return n;
}

Nest iota_nest(Dims dims, std::int64_t axis, const Access& out) {
  Nest n = over(dims);
  Access place{0, out.dtype, 0, std::vector<std::int64_t>(dims.size(), 0)};
  if (!dims.empty()) place.strides[static_cast<std::size_t>(axis)] = 1;
  const std::uint32_t value = add_access(n, NestNodeKind::Iota, place);
  n.stores.push_back({value, out});
  return n;
}

Nest reduce_nest(Op op, Dims dims, std::span<const std::int64_t> axes, const Access& in, const Access& out) {
  Nest n = over(dims);
  for (std::int64_t axis : axes) n.reduced[static_cast<std::size_t>(axis)] = 1;
  Access to = with_strides(out, std::vector<std::int64_t>(dims.size(), 0), out.offset);
  const bool keeps_dims = out.strides.size() == dims.size();
  std::size_t from = 0;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (!n.reduced[k]) to.strides[k] = out.strides[from];
    if (!n.reduced[k] || keeps_dims) ++from;
  }
  const std::uint32_t value = load(n, in);
  n.reductions.push_back({op, value, std::move(to)});
  return n;
}

void substitute_constant(Nest& nest, std::uint32_t base, std::uint64_t bits) {
  for (NestNode& node : nest.nodes) {
    if (node.kind != NestNodeKind::Load || nest.accesses[node.access].base != base) continue;
    node.kind = NestNodeKind::Constant;
    node.bits = bits;
    node.access = 0;
  }
}

void rebase(Nest& nest, std::span<const std::uint32_t> map) {
  for (Access& a : nest.accesses) a.base = map[a.base];
  for (Store& s : nest.stores) s.to.base = map[s.to.base];
  for (Reduction& r : nest.reductions) r.to.base = map[r.to.base];
}

}  // namespace tfvm
