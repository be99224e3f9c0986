// Block ops with bool results or bool operands: comparisons, predicates of floats, select.
#include "jit/region/scalar_ops.h"

namespace tfvm::region {

namespace {
struct Eq {
  template <class T>
  Truth operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {
  template <class T>
  Truth operator()(T a, T b) const {
    return a != b;
  }
};
struct Lt {
  template <class T>
  Truth operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  Truth operator()(T a, T b) const {
    return a <= b;
  }
};
struct IsNan {
  template <class T>
  Truth operator()(T a) const {
    return a != a;
  }
};
struct IsInf {
  template <class T>
  Truth operator()(T a) const {
    return Abs{}(a) == std::numeric_limits<T>::infinity();
  }
};
struct IsFinite {
  template <class T>
  Truth operator()(T a) const {
    return Abs{}(a) < std::numeric_limits<T>::infinity();
  }
};

template <class T>
void select_block(void* out, const void* p, const void* a, const void* b, std::int64_t n) {
  auto* o = static_cast<T*>(out);
  const auto* mask = static_cast<const Truth*>(p);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) o[i] = static_cast<T>(y[i] ^ ((x[i] ^ y[i]) & (T{0} - T{mask[i]})));
}

// f(b, a).
template <class F, class T>
void swapped_block(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  binary_block<F, T>(out, b, a, c, n);
}
template <class F, class... Ts>
BlockFn swapped_of(DType d, Types<Ts...>) {
  BlockFn fn = nullptr;
  ((d == kDTypeOf<Ts> ? void(fn = &swapped_block<F, Ts>) : void()), ...);
  return fn;
}

constexpr BlockRow kRows[] = {
    {Op::eq, [](DType d) { return binary_of<Eq>(without_sign(as_bits(d)), Modular{}); }},
    {Op::ne, [](DType d) { return binary_of<Ne>(without_sign(as_bits(d)), Modular{}); }},
    {Op::lt, [](DType d) { return binary_of<Lt>(as_bits(d), Reals{}); }},
    {Op::le, [](DType d) { return binary_of<Le>(as_bits(d), Reals{}); }},
    {Op::gt, [](DType d) { return swapped_of<Lt>(as_bits(d), Reals{}); }},
    {Op::ge, [](DType d) { return swapped_of<Le>(as_bits(d), Reals{}); }},
    {Op::isnan, [](DType d) { return unary_of<IsNan>(d, Floats{}); }},
    {Op::isinf, [](DType d) { return unary_of<IsInf>(d, Floats{}); }},
    {Op::isfinite, [](DType d) { return unary_of<IsFinite>(d, Floats{}); }},
};
}  // namespace

BlockFn find_compare(Op op, DType d) { return find_row(kRows, op, d); }

}  // namespace tfvm::region

namespace tfvm {

BlockFn find_select(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return &region::select_block<std::uint8_t>;
    case 2:
      return &region::select_block<std::uint16_t>;
    case 4:
      return &region::select_block<std::uint32_t>;
    case 8:
      return &region::select_block<std::uint64_t>;
    default:
      return nullptr;
  }
}

BlockFn find_block_op(Op op, DType d) {
  if (is_complex(d)) return nullptr;
  if (op == Op::select) return find_select(size_of(d));
  for (auto* find : {&region::find_arithmetic, &region::find_integer, &region::find_compare, &region::find_math})
    if (BlockFn fn = find(op, d)) return fn;
  return nullptr;
}

}  // namespace tfvm
