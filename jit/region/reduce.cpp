#include "jit/region/reduce.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "jit/region/block_op.h"
#include "jit/region/scalar_bits.h"
#include "jit/region/scalar_ops.h"

namespace tfvm {

namespace {

using namespace region;

template <class F, class T>
void lanes(void* acc, const void* v_, std::int64_t n) {
  const auto* v = static_cast<const T*>(v_);
  T local[kReduceLanes];
  std::memcpy(local, acc, sizeof local);
  for (std::int64_t i = 0; i < n; i += kReduceLanes)
    for (std::int64_t j = 0; j < kReduceLanes; ++j) local[j] = F{}(local[j], v[i + j]);
  std::memcpy(acc, local, sizeof local);
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
void short_rows(void* out_, const void* v_, std::int64_t n, std::int64_t count) {
  auto* out = static_cast<T*>(out_);
  const auto* v = static_cast<const T*>(v_);
  return n == 2   ? rows_of<F, T, 2>(out, v, count)
         : n == 3 ? rows_of<F, T, 3>(out, v, count)
                  : rows_of<F, T, 4>(out, v, count);
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

template <class T>
std::uint64_t as_bits64(T v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

template <class F, class T>
ReduceFns row(T identity) {
  void (*few)(void*, const void*, std::int64_t, std::int64_t) = nullptr;
  if constexpr (std::is_floating_point_v<T>) few = &short_rows<F, T>;
  return {&lanes<F, T>, &fold<F, T>, few, &columns<F, T>, nullptr, sizeof(T), as_bits64(identity)};
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

ReduceFns find(Op op, DType d) {
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

}  // namespace

ReduceFns find_reduction(Op op, DType d) {
  ReduceFns fns = find(op, d);
  if (fns.lanes) fns.combine = find_block_op(combining(op), is_half(d) ? DType::F32 : d == DType::Bool ? DType::U8 : d);
  return fns;
}

void take_lanes(const ReduceFns& f, void* acc_, const void* v_, std::int64_t n, std::int64_t seen) {
  auto* acc = static_cast<std::byte*>(acc_);
  const auto* v = static_cast<const std::byte*>(v_);
  if (seen < kReduceLanes) {  // these start
    const std::int64_t some = std::min(n, kReduceLanes - seen);
    std::memcpy(acc + seen * f.bytes, v, static_cast<std::size_t>(some * f.bytes));
    v += some * f.bytes, n -= some, seen += some;
  }
  const auto lanes_from = [&](std::int64_t lane, std::int64_t some) {
    if (some == 0) return;
    std::byte* to = acc + lane * f.bytes;
    f.combine(to, to, v, nullptr, some);
    v += some * f.bytes, n -= some;
  };
  if (const std::int64_t lane = seen % kReduceLanes; lane != 0) lanes_from(lane, std::min(n, kReduceLanes - lane));
  if (const std::int64_t whole = n / kReduceLanes * kReduceLanes; whole != 0) {
    f.lanes(acc, v, whole);
    v += whole * f.bytes, n -= whole;
  }
  lanes_from(0, n);
}

void take_rows(const ReduceFns& f, void* out, const void* v, std::int64_t n, std::int64_t count) {
  if (f.short_rows && n >= 2 && n <= 4) return f.short_rows(out, v, n, count);
  for (std::int64_t i = 0; i < count; ++i) {
    alignas(32) std::uint64_t acc[kReduceLanes];
    take_lanes(f, acc, static_cast<const std::byte*>(v) + i * n * f.bytes, n, 0);
    f.fold(acc, n);
    std::memcpy(static_cast<std::byte*>(out) + i * f.bytes, acc, static_cast<std::size_t>(f.bytes));
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
