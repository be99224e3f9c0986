#include "bytecode/consts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "bytecode/half.h"
#include "bytecode/hash.h"

namespace tfvm {

namespace {

template <class T>
void put(std::byte* out, T v) {
  std::memcpy(out, &v, sizeof v);
}

template <class T>
T take(const std::byte* in) {
  T v;
  std::memcpy(&v, in, sizeof v);
  return v;
}

template <class T>
T saturate(double v) {
  if (std::isnan(v)) return 0;
  // The limits as doubles may round up to 2^63 or 2^64: compare with >=.
  if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (v <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(v);
}

// One switch over the dtypes for all loads and stores here: f(T{}) for the plain C++ types.
template <class F>
auto with_plain(DType d, F f) {
  switch (d) {
    case DType::I8:
      return f(std::int8_t{});
    case DType::I16:
      return f(std::int16_t{});
    case DType::I32:
      return f(std::int32_t{});
    case DType::I64:
      return f(std::int64_t{});
    case DType::U8:
      return f(std::uint8_t{});
    case DType::U16:
      return f(std::uint16_t{});
    case DType::U32:
      return f(std::uint32_t{});
    case DType::U64:
      return f(std::uint64_t{});
    case DType::F32:
    case DType::C64:
      return f(float{});
    default:
      return f(double{});
  }
}

}  // namespace

void store_element(DType dtype, double value, std::byte* out) {
  if (is_complex(dtype)) std::memset(out, 0, static_cast<std::size_t>(size_of(dtype)));
  if (dtype == DType::Bool) return put<std::uint8_t>(out, value != 0);
  if (dtype == DType::F16) return put(out, f16_bits(value));
  if (dtype == DType::BF16) return put(out, bf16_bits(value));
  with_plain(dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>)
      put(out, saturate<T>(value));
    else
      put(out, static_cast<T>(value));
  });
}

void store_element(DType dtype, std::int64_t value, std::byte* out) {
  if (dtype == DType::Bool) return put<std::uint8_t>(out, value != 0);
  if (dtype == DType::F16 || dtype == DType::BF16) {
    // Large integers round once: both formats have far fewer bits than a double, whose rounding to odd keeps the rest
    // sticky.
    double d = static_cast<double>(value);
    const auto back = static_cast<__int128>(d);
    if (back != value && (std::bit_cast<std::uint64_t>(d) & 1) == 0)
      d = std::nextafter(d, back < value ? INFINITY : -INFINITY);
    return store_element(dtype, d, out);
  }
  if (is_complex(dtype)) return store_element(dtype, static_cast<double>(value), out);
  with_plain(dtype, [&](auto t) { put(out, static_cast<decltype(t)>(value)); });
}

double load_double(DType dtype, const std::byte* in) {
  if (dtype == DType::Bool) return take<std::uint8_t>(in);
  if (dtype == DType::F16) return f16_value(take<std::uint16_t>(in));
  if (dtype == DType::BF16) return bf16_value(take<std::uint16_t>(in));
  return with_plain(dtype, [&](auto t) { return static_cast<double>(take<decltype(t)>(in)); });
}

std::int64_t load_int(DType dtype, const std::byte* in) {
  if (dtype == DType::Bool) return take<std::uint8_t>(in);
  if (!is_int(dtype)) return saturate<std::int64_t>(load_double(dtype, in));
  return with_plain(dtype, [&](auto t) { return static_cast<std::int64_t>(take<decltype(t)>(in)); });
}

ConstId ConstTable::intern(TypeId type, std::span<const std::byte> bytes) {
  const std::uint64_t h = hash_span(bytes, index(type));
  const ConstId known = ids_.find(h, [&](ConstId id) {
    const Constant& c = items_[index(id)];
    return c.type == type && std::ranges::equal(c.bytes, bytes);
  });
  if (known != kNone<ConstId>) return known;
  const auto id = static_cast<ConstId>(items_.add({type, arena_.copy(bytes)}));
  ids_.add(h, id);
  return id;
}

void ConstTable::keep() {
  items_.keep();
  arena_.keep();
}

void ConstTable::forget() {
  ids_.forget(items_.kept());
  items_.forget();
  arena_.forget();
}

std::int64_t ConstTable::fresh_bytes() const {
  return items_.fresh() * static_cast<std::int64_t>(sizeof(Constant) + kMapEntry) + arena_.fresh();
}

ConstId ConstTable::scalar(DType dtype, double value) {
  std::byte buffer[16];
  store_element(dtype, value, buffer);
  return intern(types_.scalar(dtype), {buffer, static_cast<std::size_t>(size_of(dtype))});
}

ConstId ConstTable::scalar_int(DType dtype, std::int64_t value) {
  std::byte buffer[16];
  store_element(dtype, value, buffer);
  return intern(types_.scalar(dtype), {buffer, static_cast<std::size_t>(size_of(dtype))});
}

bool ConstTable::is_splat(ConstId id) const {
  const Constant& c = items_[index(id)];
  const auto n = static_cast<std::size_t>(size_of(types_.dtype(c.type)));
  if (c.bytes.size() <= n) return c.bytes.size() == n;
  return std::memcmp(c.bytes.data(), c.bytes.data() + n, c.bytes.size() - n) == 0;
}

double ConstTable::as_double(ConstId id, std::int64_t element) const {
  const Constant& c = items_[index(id)];
  const DType d = types_.dtype(c.type);
  return load_double(d, c.bytes.data() + element * size_of(d));
}

std::int64_t ConstTable::as_int(ConstId id, std::int64_t element) const {
  const Constant& c = items_[index(id)];
  const DType d = types_.dtype(c.type);
  return load_int(d, c.bytes.data() + element * size_of(d));
}

}  // namespace tfvm
