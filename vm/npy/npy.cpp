#include "vm/npy/npy.h"

#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace tfvm {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Descr {
  DType dtype;
  std::string_view text;
};
constexpr Descr kDescrs[] = {
    {DType::Bool, "|b1"}, {DType::I8, "|i1"},   {DType::I16, "<i2"}, {DType::I32, "<i4"}, {DType::I64, "<i8"},
    {DType::U8, "|u1"},   {DType::U16, "<u2"},  {DType::U32, "<u4"}, {DType::U64, "<u8"}, {DType::F16, "<f2"},
    {DType::BF16, "<V2"}, {DType::F32, "<f4"},  {DType::F64, "<f8"}, {DType::C64, "<c8"}, {DType::C128, "<c16"},
    {DType::BF16, "|V2"}, {DType::Bool, "<b1"}, {DType::I8, "<i1"},  {DType::U8, "<u1"},
};
static_assert(std::size(kDescrs) >= kDTypes);

std::string_view descr(DType d) {
  for (const Descr& row : kDescrs)
    if (row.dtype == d) return row.text;
  return {};
}

struct Header {
  std::string_view descr;
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
};

Error malformed(std::string_view what) { return Error(Code::Syntax, fmt::format(".npy: {}", what)); }

// The header is a Python dict display with three known keys; nothing else is accepted.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : s_(text) {}

  Result<Header> run() {
    Header h;
    if (!eat('{')) return malformed("the header is no dict");
    while (!eat('}')) {
      const auto key = string();
      if (!key || !eat(':')) return malformed("a key expected in the header");
      if (*key == "descr") {
        const auto v = string();
        if (!v) return Error(Code::Unsupported, ".npy: structured dtypes have no counterpart");
        h.descr = *v;
      } else if (*key == "fortran_order") {
        h.fortran = boolean();
        if (!h.fortran) return malformed("fortran_order is neither True nor False");
      } else if (*key == "shape") {
        h.shape = tuple();
        if (!h.shape) return malformed("the shape is no tuple of extents");
      } else {
        return malformed("an unknown key in the header");
      }
      if (!eat(',') && (at_ >= s_.size() || s_[at_] != '}')) return malformed("',' expected in the header");
    }
    if (h.descr.empty() || !h.fortran || !h.shape) return malformed("descr, fortran_order or shape is missing");
    return h;
  }

 private:
  void skip() {
    while (at_ < s_.size() && (s_[at_] == ' ' || s_[at_] == '\n')) ++at_;
  }
  bool eat(char c) {
    skip();
    if (at_ >= s_.size() || s_[at_] != c) return false;
    ++at_;
    skip();
    return true;
  }
  std::optional<std::string_view> string() {
    skip();
    if (at_ >= s_.size() || (s_[at_] != '\'' && s_[at_] != '"')) return std::nullopt;
    const std::size_t end = s_.find(s_[at_], at_ + 1);
    if (end == s_.npos) return std::nullopt;
    const std::string_view v = s_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return v;
  }
  std::optional<bool> boolean() {
    skip();
    for (const bool v : {true, false}) {
      const std::string_view text = v ? "True" : "False";
      if (!s_.substr(at_).starts_with(text)) continue;
      at_ += text.size();
      return v;
    }
    return std::nullopt;
  }
  std::optional<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> dims;
    if (!eat('(')) return std::nullopt;
    while (!eat(')')) {
      std::int64_t n = 0;
      const auto r = std::from_chars(s_.data() + at_, s_.data() + s_.size(), n);
      if (r.ec != std::errc{} || n < 0 || dims.size() >= 64) return std::nullopt;
      at_ = static_cast<std::size_t>(r.ptr - s_.data());
      if (at_ < s_.size() && s_[at_] == 'L') ++at_;  // Python 2
      dims.push_back(n);
      skip();
      if (!eat(',') && (at_ >= s_.size() || s_[at_] != ')')) return std::nullopt;
    }
    return dims;
  }

  std::string_view s_;
  std::size_t at_ = 0;
};

Result<DType> dtype_of(std::string_view text) {
  for (const Descr& row : kDescrs)
    if (row.text == text) return row.dtype;
  if (text.starts_with('>'))
    return Error(Code::Unsupported,
                 fmt::format(".npy: dtype '{}' is big-endian; convert it by .astype('<{}')", text, text.substr(1)));
  return Error(Code::Unsupported, fmt::format(".npy: dtype '{}' has no counterpart", text));
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> file, const BudgetRef& budget) {
  const std::string_view s(reinterpret_cast<const char*>(file.data()), file.size());
  if (!s.starts_with(kMagic) || s.size() < 10) return malformed("the file doesn't begin as an array file");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(s[i])); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) return malformed(fmt::format("version {} is unknown", version));
  const std::size_t begin = version == 1 ? 10 : 12;
  if (s.size() < begin) return malformed("the header is cut off");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > s.size() - begin) return malformed("the header is cut off");
  const auto h = HeaderReader(s.substr(begin, length)).run();
  if (!h) return h.error();
  const auto dtype = dtype_of(h->descr);
  if (!dtype) return dtype.error();
  if (*h->fortran) return Error(Code::Unsupported, ".npy: Fortran order; convert it by numpy.ascontiguousarray");
  const auto elements = checked_elements(*h->shape);
  if (!elements || *elements > (std::int64_t{1} << 62) / size_of(*dtype)) return malformed("the shape overflows");
  const std::span<const std::byte> data = file.subspan(begin + length);
  const std::int64_t bytes = *elements * size_of(*dtype);
  if (static_cast<std::int64_t>(data.size()) != bytes)
    return malformed(
        fmt::format("{} bytes of data, where {} has {}", data.size(), type_text(*dtype, *h->shape), bytes));
  Result<Tensor> t = Tensor::make(budget, *dtype, *h->shape, data);
  if (t && *dtype == DType::Bool)  // only 0 and 1 are bools here
    for (std::int64_t i = 0; i < *elements; ++i) t->data()[i] = std::byte{t->data()[i] != std::byte{0}};
  return t;
}

std::vector<std::byte> to_npy(const Tensor& t) {
  std::string shape;
  for (std::int64_t d : t.dims()) shape += fmt::format("{}, ", d);
  if (t.rank() > 1) shape.resize(shape.size() - 2);
  if (t.rank() == 1) shape.resize(shape.size() - 1);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr(t.dtype()), shape);
  const std::size_t total = (10 + header.size() + 1 + 63) / 64 * 64;  // data aligned to 64
  header.append(total - 10 - header.size() - 1, ' ');
  header += '\n';
  std::vector<std::byte> out(total + static_cast<std::size_t>(t.bytes()));
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  out[6] = std::byte{1};
  out[7] = std::byte{0};
  out[8] = static_cast<std::byte>(header.size() & 0xff);
  out[9] = static_cast<std::byte>(header.size() >> 8);
  std::memcpy(out.data() + 10, header.data(), header.size());
  t.copy_to(std::span(out).subspan(total));
  return out;
}

}  // namespace tfvm
