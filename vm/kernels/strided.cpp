#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

template <std::size_t Size>
void copy_row(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * to_stride * static_cast<std::int64_t>(Size),
                from + i * from_stride * static_cast<std::int64_t>(Size), Size);
}

void copy_row(std::byte* to, std::int64_t ts, const std::byte* from, std::int64_t fs, std::int64_t n,
              std::int64_t size) {
  if (ts == 1 && fs == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
    return;
  }
  switch (size) {
    case 1:
      return copy_row<1>(to, ts, from, fs, n);
    case 2:
      return copy_row<2>(to, ts, from, fs, n);
    case 4:
      return copy_row<4>(to, ts, from, fs, n);
    case 8:
      return copy_row<8>(to, ts, from, fs, n);
    default:
      return copy_row<16>(to, ts, from, fs, n);
  }
}

template <class T>
std::int64_t read(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return static_cast<std::int64_t>(v);
}

}  // namespace

void copy_strided(std::int32_t rank, const std::int64_t* dims, std::byte* to, const std::int64_t* to_strides,
                  const std::byte* from, const std::int64_t* from_strides, std::int64_t size) {
  // Trailing dims that are contiguous in both are one run.
  std::int64_t run = 1;
  while (rank > 0 && (dims[rank - 1] == 1 || (to_strides[rank - 1] == run && from_strides[rank - 1] == run)))
    run *= dims[--rank];
  if (run == 0) return;
  if (run > 1 || rank == 0) {
    Walk<2> w(rank, dims);
    w.strides(0, to_strides);
    w.strides(1, from_strides);
    for (; w.more(); w.next())
      std::memcpy(to + w.at(0) * size, from + w.at(1) * size, static_cast<std::size_t>(run * size));
    return;
  }
  Walk<2> w(rank - 1, dims);
  w.strides(0, to_strides);
  w.strides(1, from_strides);
  for (; w.more(); w.next())
    copy_row(to + w.at(0) * size, to_strides[rank - 1], from + w.at(1) * size, from_strides[rank - 1], dims[rank - 1],
             size);
}

void copy_view(const View& to, const View& from) {
  if (to.data == from.data) return;
  copy_strided(to.rank, to.dims, to.data, to.strides, from.data, from.strides, size_of(to.dtype));
}

std::int64_t load_index(DType dtype, const std::byte* p) {
  switch (dtype) {
    case DType::I8:
      return read<std::int8_t>(p);
    case DType::I16:
      return read<std::int16_t>(p);
    case DType::I32:
      return read<std::int32_t>(p);
    case DType::U8:
      return read<std::uint8_t>(p);
    case DType::U16:
      return read<std::uint16_t>(p);
    case DType::U32:
      return read<std::uint32_t>(p);
    default:
      return read<std::int64_t>(p);
  }
}

}  // namespace tfvm
