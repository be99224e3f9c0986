#include "vm/eager/view.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tfvm {

namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

std::string strides_text(const Tensor& x) {
  return fmt::format("{} with strides [{}]", x.type_text(), fmt::join(x.layout().strides, ", "));
}

Tensor with(const Tensor& x, Layout layout) { return x.with_layout(std::move(layout)); }

Result<Tensor> reshaped_view(const ViewOp& v, const Tensor& x) {
  std::optional<Layout> layout = reshaped(x.layout(), v.dims);
  if (layout) return with(x, *std::move(layout));
  return Error(Code::Type,
               fmt::format("[{}] the strides don't allow a view (view, flatten) as {}, got {}; reshape copies",
                           name(v.op), type_text(x.dtype(), v.dims), strides_text(x)));
}

Layout diagonal(const ViewOp& v, const Layout& x) {
  Layout y{{}, {}, x.offset};
  for (std::size_t k = 0; k < x.dims.size(); ++k) {
    if (k == at(v.axis) || k == at(v.axis2)) continue;
    y.dims.push_back(x.dims[k]);
    y.strides.push_back(x.strides[k]);
  }
  y.dims.push_back(v.dims.back());
  y.strides.push_back(x.strides[at(v.axis)] + x.strides[at(v.axis2)]);
  if (v.dims.back() > 0)
    y.offset += v.offset >= 0 ? v.offset * x.strides[at(v.axis2)] : -v.offset * x.strides[at(v.axis)];
  return y;
}

Layout unfolded(const ViewOp& v, const Layout& x) {
  Layout y{v.dims, x.strides, x.offset};
  y.strides.push_back(x.strides[at(v.axis)]);
  y.strides[at(v.axis)] *= v.step;
  return y;
}

// Over the whole storage, as the program sees it: in elements of the tensor's dtype from its start.
Result<Tensor> strided(const ViewOp& v, const Tensor& x) {
  const std::int64_t size = size_of(x.dtype());
  std::byte* begin = x.storage() ? x.storage()->data() : x.base() + extent(x.layout()).begin * size;
  const std::int64_t room =
      x.storage() ? x.storage()->bytes() / size : extent(x.layout()).end - extent(x.layout()).begin;
  const auto outside = [&] {
    return Error(
        Code::Type,
        fmt::format("[{}] shape=[{}], strides=[{}], offset={} leave the storage of {}, which holds "
                    "{} elements",
                    name(v.op), fmt::join(v.dims, ", "), fmt::join(v.first, ", "), v.offset, x.type_text(), room));
  };
  std::int64_t last = v.offset;
  const bool empty = std::ranges::find(v.dims, 0) != v.dims.end();
  for (std::size_t k = 0; k < v.dims.size(); ++k) {
    std::int64_t span = 0;
    if (v.first[k] < 0) return outside();
    if (!empty &&
        (__builtin_mul_overflow(v.dims[k] - 1, v.first[k], &span) || __builtin_add_overflow(last, span, &last)))
      return outside();
  }
  if (v.offset < 0 || (!empty && last >= room) || (empty && v.offset > room)) return outside();
  return Tensor::over(begin, x.dtype(), Layout{v.dims, v.first, v.offset}, x.storage());
}

// One element of x is `ratio` of the result's.
Tensor narrower(const Tensor& x, DType dtype, std::int64_t ratio, Dims dims) {
  Layout y{dims, x.layout().strides, x.layout().offset * ratio};
  for (std::int64_t& s : y.strides) s *= ratio;
  if (!y.strides.empty() && ratio > 1) y.strides.back() = 1;
  return Tensor::over(x.base(), dtype, std::move(y), x.storage());
}

Result<Tensor> of_dtype(const ViewOp& v, const Tensor& x) {
  const std::int64_t from = size_of(x.dtype()), to = size_of(v.dtype);
  const Layout& l = x.layout();
  const auto wrong = [&] {
    return Error(Code::Type, fmt::format("[view_dtype] the elements don't stand as {} needs them, got {}",
                                         name(v.dtype), strides_text(x)));
  };
  if (from == to) return Tensor::over(x.base(), v.dtype, l, x.storage());
  if (l.strides.back() != 1 && l.dims.back() > 1) return wrong();
  if (from > to) return narrower(x, v.dtype, from / to, v.dims);
  const std::int64_t ratio = to / from;
  Layout y{v.dims, l.strides, 0};
  bool even =
      reinterpret_cast<std::uintptr_t>(x.data()) % static_cast<std::uintptr_t>(std::min<std::int64_t>(to, 8)) == 0;
  for (std::size_t k = 0; k + 1 < y.strides.size(); ++k) {
    even = even && (l.dims[k] <= 1 || l.strides[k] % ratio == 0);
    y.strides[k] /= ratio;
  }
  y.strides.back() = 1;
  if (!even) return wrong();
  return Tensor::over(x.data(), v.dtype, std::move(y), x.storage());
}

// One part of each complex number: every other float.
Tensor part(const ViewOp& v, const Tensor& x) {
  Layout y = x.layout();
  for (std::int64_t& s : y.strides) s *= 2;
  y.offset = 2 * y.offset + (v.op == Op::imag ? 1 : 0);
  return Tensor::over(x.base(), v.dtype, std::move(y), x.storage());
}

}  // namespace

bool gives_view(Op op) {
  switch (op) {
    case Op::transpose:
    case Op::slice:
    case Op::broadcast_to:
    case Op::real:
    case Op::imag:
    case Op::transpose_:
    case Op::squeeze_:
    case Op::unsqueeze_:
    case Op::as_strided_:
      return true;
    default:
      return info(op).kind == OpKind::View;
  }
}

ViewOp view_op(const Tables& t, Op op, AttrId attrs, TypeId result) {
  ViewOp v;
  v.op = op;
  v.dtype = t.types.dtype(result);
  const Dims dims = t.types.dims(result);
  v.dims.assign(dims.begin(), dims.end());
  const auto list = [&](Key key) {
    const Ints ints = t.attrs.get_ints(attrs, key);
    return std::vector<std::int64_t>(ints.begin(), ints.end());
  };
  switch (op) {
    case Op::transpose:
    case Op::transpose_:
      v.first = list(Key::perm);
      break;
    case Op::slice:
      v.first = list(Key::start), v.second = list(Key::limit), v.third = list(Key::stride);
      break;
    case Op::as_strided:
    case Op::as_strided_:
      v.first = list(Key::strides), v.offset = t.attrs.get_int(attrs, Key::offset);
      break;
    case Op::unfold:
      v.axis = t.attrs.get_int(attrs, Key::axis), v.step = t.attrs.get_int(attrs, Key::step);
      break;
    default:
      if (!t.attrs.has(attrs, Key::axis1)) break;
      v.axis = t.attrs.get_int(attrs, Key::axis1), v.axis2 = t.attrs.get_int(attrs, Key::axis2);
      v.offset = t.attrs.get_int(attrs, Key::offset);
  }
  return v;
}

Result<Tensor> view_of(const ViewOp& v, const Tensor& x) {
  switch (v.op) {
    case Op::alias:
    case Op::detach:
      return x;
    case Op::transpose:
    case Op::transpose_:
      return with(x, transposed(x.layout(), v.first));
    case Op::slice:
      return with(x, sliced(x.layout(), v.first, v.second, v.third));
    case Op::broadcast_to:
      return with(x, broadcast(x.layout(), v.dims));
    case Op::as_strided:
    case Op::as_strided_:
      return strided(v, x);
    case Op::unfold:
      return with(x, unfolded(v, x.layout()));
    case Op::view_dtype:
      return of_dtype(v, x);
    case Op::real:
    case Op::imag:
      return part(v, x);
    case Op::view:
    case Op::squeeze_:
    case Op::unsqueeze_:
      return reshaped_view(v, x);
    default:
      return with(x, diagonal(v, x.layout()));
  }
}

namespace {

// Marks the place of every element; only where the quick test can't tell.
bool some_place_twice(const Layout& x) {
  const Extent e = extent(x);
  std::vector<bool> seen(at(e.end - e.begin), false);
  Extents index(x.dims.size(), 0);
  for (std::int64_t place = x.offset - e.begin;;) {
    if (seen[at(place)]) return true;
    seen[at(place)] = true;
    std::size_t k = x.dims.size();
    for (; k > 0; --k) {
      place += x.strides[k - 1];
      if (++index[k - 1] < x.dims[k - 1]) break;
      place -= x.strides[k - 1] * x.dims[k - 1];
      index[k - 1] = 0;
    }
    if (k == 0) return false;
  }
}

}  // namespace

bool may_overlap(const Tensor& a, const Tensor& b) {
  const Extent p = extent(a.layout()), q = extent(b.layout());
  const std::int64_t m = size_of(a.dtype()), n = size_of(b.dtype());
  return a.base() + p.begin * m < b.base() + q.end * n && b.base() + q.begin * n < a.base() + p.end * m;
}

bool overlaps_itself(const Layout& x) {
  if (x.is_row_major()) return false;
  struct Axis {
    std::int64_t stride, n;
  };
  InlineVector<Axis, 6> axes;  // of extent over 1
  for (std::size_t k = 0; k < x.dims.size(); ++k)
    if (x.dims[k] > 1) axes.push_back({std::abs(x.strides[k]), x.dims[k]});
  std::ranges::sort(axes, {}, &Axis::stride);
  std::int64_t reach = 0;  // of the axes so far
  for (const auto& [stride, n] : axes) {
    if (stride == 0) return true;
    if (stride <= reach) return some_place_twice(x);
    reach += stride * (n - 1);
  }
  return false;
}

}  // namespace tfvm
