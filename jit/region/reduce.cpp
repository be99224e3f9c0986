#include "jit/region/reduce.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "jit/region/scalar_bits.h"
#include "jit/region/scalar_ops.h"

namespace tfvm {

namespace {

using namespace region;

template <class F, class T>
void lanes(void* acc_, const void* v_, std::int64_t n, std::int64_t seen) {
  auto* acc = static_cast<T*>(acc_);
  const auto* v = static_cast<const T*>(v_);
  std::int64_t i = 0;
  for (; i < n && seen + i < kReduceLanes; ++i) acc[seen + i] = v[i];
  for (; i < n && (seen + i) % kReduceLanes != 0; ++i) {
    T& a = acc[(seen + i) % kReduceLanes];
    a = F{}(a, v[i]);
  }
  if (i + kReduceLanes <= n) {
    T local[kReduceLanes];
    std::memcpy(local, acc, sizeof local);
    for (; i + kReduceLanes <= n; i += kReduceLanes)
      for (std::int64_t j = 0; j < kReduceLanes; ++j) local[j] = F{}(local[j], v[i + j]);
    std::memcpy(acc, local, sizeof local);
  }
  for (std::int64_t j = 0; i < n; ++i, ++j) acc[j] = F{}(acc[j], v[i]);
}

template <class F, class T>
void fold(void* acc_, std::int64_t seen) {
  auto* acc = static_cast<T*>(acc_);
  const std::int64_t live = seen < kReduceLanes ? seen : kReduceLanes;
  for (auto w = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(live)) / 2); w > 0; w /= 2)
    for (std::int64_t j = 0; j < w && j + w < live; ++j) acc[j] = F{}(acc[j], acc[j + w]);
}

// Rows of a constant length, unrolled.
template <class F, class T, int N>
void rows_of(T* out, const T* v, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    T acc[N];
    for (int j = 0; j < N; ++j) acc[j] = v[i * N + j];
    for (int w = static_cast<int>(std::bit_ceil(unsigned{N})) / 2; w > 0; w /= 2)
      for (int j = 0; j < w && j + w < N; ++j) acc[j] = F{}(acc[j], acc[j + w]);
    out[i] = acc[0];
  }
}

template <class F, class T>
void rows(void* out_, const void* v_, std::int64_t n, std::int64_t count) {
  auto* out = static_cast<T*>(out_);
  const auto* v = static_cast<const T*>(v_);
  if constexpr (std::is_floating_point_v<T>) {
    switch (n) {
      case 2:
        return rows_of<F, T, 2>(out, v, count);
      case 3:
        return rows_of<F, T, 3>(out, v, count);
      case 4:
        return rows_of<F, T, 4>(out, v, count);
      default:
        break;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    T acc[kReduceLanes];
    lanes<F, T>(acc, v + i * n, n, 0);
    fold<F, T>(acc, n);
    out[i] = acc[0];
  }
}

// A few columns stay in registers.
template <class F, class T, int Width>
void columns_of(T* acc, const T* v, std::int64_t count) {
  T local[Width];
  for (int j = 0; j < Width; ++j) local[j] = acc[j];
  for (std::int64_t i = 0; i < count; ++i)
    for (int j = 0; j < Width; ++j) local[j] = F{}(local[j], v[i * Width + j]);
  for (int j = 0; j < Width; ++j) acc[j] = local[j];
}

template <class F, class T>
void columns(void* acc_, const void* v_, std::int64_t width, std::int64_t count) {
  auto* acc = static_cast<T*>(acc_);
  const auto* v = static_cast<const T*>(v_);
  if constexpr (std::is_floating_point_v<T>) {
    switch (width) {
      case 1:
        return columns_of<F, T, 1>(acc, v, count);
      case 2:
        return columns_of<F, T, 2>(acc, v, count);
      case 3:
        return columns_of<F, T, 3>(acc, v, count);
      case 4:
        return columns_of<F, T, 4>(acc, v, count);
      case 8:
        return columns_of<F, T, 8>(acc, v, count);
      case 10:
        return columns_of<F, T, 10>(acc, v, count);
      default:
        break;
    }
  }
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < width; ++j) acc[j] = F{}(acc[j], v[i * width + j]);
}

template <class F, class T>
void combine(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  binary_block<F, T>(out, a, b, c, n);
}

template <class T>
std::uint64_t as_bits64(T v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

template <class F, class T>
ReduceFns row(T identity) {
  return {&lanes<F, T>, &fold<F, T>, &rows<F, T>, &columns<F, T>, &combine<F, T>, as_bits64(identity)};
}

// Sums, products and bits are the same for integers with and without a sign.
template <class T>
struct Wrapped {
  using Type = T;
};
template <std::integral T>
struct Wrapped<T> {
  using Type = std::make_unsigned_t<T>;
};

template <class T>
ReduceFns find(Op op, bool is_bool) {
  using L = std::numeric_limits<T>;
  using W = typename Wrapped<T>::Type;
  switch (op) {
    case Op::reduce_sum:
      return row<Add, W>(W(0));
    case Op::reduce_prod:
      return row<Mul, W>(W(1));
    case Op::reduce_max:
      return row<Max, T>(L::has_infinity ? -L::infinity() : L::lowest());
    case Op::reduce_min:
      return row<Min, T>(L::has_infinity ? L::infinity() : L::max());
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == Op::reduce_and) return row<And, W>(is_bool ? W(1) : static_cast<W>(~W(0)));
    if (op == Op::reduce_or) return row<Or, W>(W(0));
  }
  return {};
}

}  // namespace

ReduceFns find_reduction(Op op, DType d) {
  switch (d) {
    case DType::I8:
      return find<std::int8_t>(op, false);
    case DType::I16:
      return find<std::int16_t>(op, false);
    case DType::I32:
      return find<std::int32_t>(op, false);
    case DType::I64:
      return find<std::int64_t>(op, false);
    case DType::Bool:
      return find<std::uint8_t>(op, true);
    case DType::U8:
      return find<std::uint8_t>(op, false);
    case DType::U16:
      return find<std::uint16_t>(op, false);
    case DType::U32:
      return find<std::uint32_t>(op, false);
    case DType::U64:
      return find<std::uint64_t>(op, false);
    case DType::F16:
    case DType::BF16:
    case DType::F32:
      return find<float>(op, false);
    case DType::F64:
      return find<double>(op, false);
    default:
      return {};
  }
}

Op combining(Op reduction) {
  switch (reduction) {
    case Op::reduce_sum:
      return Op::add;
    case Op::reduce_prod:
      return Op::mul;
    case Op::reduce_max:
      return Op::max;
    case Op::reduce_min:
      return Op::min;
    case Op::reduce_and:
      return Op::and_;
    default:
      return Op::or_;
  }
}

}  // namespace tfvm
