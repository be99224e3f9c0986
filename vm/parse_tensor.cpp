#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "bytecode/consts.h"
#include "vm/print.h"

namespace tfvm {

namespace {

// One pass over the text: nesting gives the dims, elements are kept as spans of text until the dtype is known.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Status run() {
    skip();
    if (auto s = read_type(); !s) return s;
    if (auto s = read_value(); !s) return s;
    skip();
    return at_ == text_.size() ? ok() : fail("the literal should end here");
  }

  std::optional<DType> dtype;
  std::optional<std::vector<std::int64_t>> dims;  // written
  std::vector<std::int64_t> nesting;              // found; up to the first extent of 0
  std::vector<std::string_view> items;

  Error fail(std::string_view what) const {
    return Error(Code::Syntax, fmt::format("column {} of the literal: {}", at_ + 1, what));
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool eat(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Status read_type() {
    const std::size_t end = text_.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", at_);
    const auto d = parse_dtype(text_.substr(at_, end == text_.npos ? text_.npos : end - at_));
    if (!d) return ok();
    dtype = d;
    at_ = end == text_.npos ? text_.size() : end;
    dims.emplace();
    if (at_ < text_.size() && text_[at_] == '[') {
      ++at_;
      while (!eat(']')) {
        if (!dims->empty() && !eat(',')) return fail("',' or ']' expected in the type");
        skip();
        std::int64_t n = 0;
        const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
        if (r.ec != std::errc{} || n < 0) return fail("an extent expected");
        at_ = static_cast<std::size_t>(r.ptr - text_.data());
        dims->push_back(n);
      }
    }
    skip();
    return ok();
  }

  Status read_value() {
    std::vector<std::int64_t> counts;  // of the open lists
    bool closed_once = false;          // dims are fixed by the first list that closes at each depth
    std::vector<bool> fixed;
    while (true) {
      skip();
      if (eat('[')) {
        if (closed_once && counts.size() >= nesting.size()) return fail("nested deeper than the lists before");
        if (counts.size() >= kMaxRank) return fail("too many dims");
        counts.push_back(0);
        if (!closed_once) {
          nesting.push_back(0);
          fixed.push_back(false);
        }
        if (!eat(']')) continue;
        closed_once = true;
        if (auto s = close(counts, fixed); !s) return s;
      } else {
        if (closed_once && counts.size() != nesting.size()) return fail("a list expected");
        closed_once = true;
        if (auto s = read_item(); !s) return s;
      }
      if (counts.empty()) return ok();
      ++counts.back();
      while (eat(']')) {
        if (auto s = close(counts, fixed); !s) return s;
        if (counts.empty()) return ok();
        ++counts.back();
      }
      if (!eat(',')) return fail("',' or ']' expected");
    }
  }

  Status close(std::vector<std::int64_t>& counts, std::vector<bool>& fixed) {
    const std::size_t depth = counts.size() - 1;
    if (fixed[depth] && nesting[depth] != counts.back())
      return fail(fmt::format("{} items, where the list before has {}", counts.back(), nesting[depth]));
    fixed[depth] = true;
    nesting[depth] = counts.back();
    counts.pop_back();
    return ok();
  }

  Status read_item() {
    const std::size_t begin = at_;
    int open = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '(') ++open;
      if (c == ')') --open;
      if (open == 0 && (c == ',' || c == ']' || c == '[' || c == ' ' || c == '\n' || c == '\t')) break;
    }
    if (at_ == begin) return fail("a number expected");
    items.push_back(text_.substr(begin, at_ - begin));
    return ok();
  }

  static constexpr std::size_t kMaxRank = 64;
  std::string_view text_;
  std::size_t at_ = 0;
};

bool from_text(std::string_view s, double& v) {
  if (s == "inf" || s == "-inf" || s == "nan") {
    v = s == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    if (s[0] == '-') v = -v;
    return true;
  }
  bool negative = false;
  auto format = std::chars_format::general;
  if (s.starts_with('-')) {
    negative = true;
    s.remove_prefix(1);
  }
  if (s.starts_with("0x")) {
    s.remove_prefix(2);
    format = std::chars_format::hex;
  }
  if (s.empty() || (!std::isxdigit(static_cast<unsigned char>(s[0])) && s[0] != '.')) return false;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v, format);
  if (r.ptr != s.data() + s.size()) return false;
  if (r.ec == std::errc::result_out_of_range) v = std::strtod(std::string(s).c_str(), nullptr);
  if (negative) v = -v;
  return true;
}

template <class T>
bool from_text_int(std::string_view s, T& v) {
  const bool negative = s.starts_with('-');
  std::string_view digits = s.substr(negative ? 1 : 0);
  const int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  std::string plain(negative ? "-" : "");
  plain += digits;
  if (digits.empty() || digits[0] == '-') return false;
  const auto r = std::from_chars(plain.data(), plain.data() + plain.size(), v, base);
  return r.ec == std::errc{} && r.ptr == plain.data() + plain.size();
}

bool in_range(DType d, std::int64_t v) {
  if (d == DType::I64) return true;
  const int bits = static_cast<int>(8 * size_of(d));
  if (is_signed(d)) return v >= -(std::int64_t{1} << (bits - 1)) && v < std::int64_t{1} << (bits - 1);
  return v >= 0 && (bits >= 64 || v < std::int64_t{1} << bits);
}

bool store_real(DType d, std::string_view s, std::byte* out) {
  if (s.starts_with("bits(0x") && s.ends_with(")")) {
    std::uint64_t bits = 0;
    if (!from_text_int(s.substr(5, s.size() - 6), bits)) return false;
    std::memcpy(out, &bits, static_cast<std::size_t>(size_of(d)));
    return true;
  }
  if (d == DType::F32) {  // rounded once, from the text
    float f = 0;
    const auto r = std::from_chars(s.data(), s.data() + s.size(), f);
    if (r.ec == std::errc{} && r.ptr == s.data() + s.size() && std::isfinite(f)) {
      std::memcpy(out, &f, sizeof f);
      return true;
    }
  }
  double v = 0;
  if (!from_text(s, v)) return false;
  store_element(d, v, out);
  return true;
}

bool store(DType d, std::string_view s, std::byte* out) {
  if (d == DType::Bool) {
    if (s != "true" && s != "false") return false;
    *out = std::byte{s == "true"};
    return true;
  }
  if (is_int(d)) {
    std::int64_t v = 0;
    std::uint64_t u = 0;
    if (d == DType::U64 && from_text_int(s, u)) {
      std::memcpy(out, &u, sizeof u);
      return true;
    }
    if (!from_text_int(s, v) || !in_range(d, v)) return false;
    store_element(d, v, out);
    return true;
  }
  if (is_float(d)) return store_real(d, s, out);
  const DType part = d == DType::C64 ? DType::F32 : DType::F64;
  std::memset(out, 0, static_cast<std::size_t>(size_of(d)));
  if (!s.starts_with("complex(")) return store_real(part, s, out);
  if (s.back() != ')') return false;
  const std::string_view inner = s.substr(8, s.size() - 9);
  const std::size_t comma = inner.find(',');
  const std::size_t im = inner.find_first_not_of(' ', comma == inner.npos ? comma : comma + 1);
  return im != inner.npos && store_real(part, inner.substr(0, comma), out) &&
         store_real(part, inner.substr(im), out + size_of(part));
}

DType looks_like(const std::vector<std::string_view>& items) {
  bool whole = !items.empty();
  for (std::string_view s : items) {
    if (s == "true" || s == "false") return DType::Bool;
    if (s.starts_with("complex(")) return DType::C64;
    std::int64_t v;
    whole = whole && from_text_int(s, v);
  }
  return whole ? DType::I64 : DType::F32;
}

// Does the nesting show these dims, as far as it can?
bool agrees(const std::vector<std::int64_t>& nesting, Dims dims) {
  if (nesting.size() > dims.size()) return false;
  for (std::size_t k = 0; k < nesting.size(); ++k)
    if (nesting[k] != dims[k]) return false;
  return nesting.size() == dims.size() || (!nesting.empty() && nesting.back() == 0);
}

Result<Tensor> fill(const Scanner& s, DType dtype, Dims dims, const BudgetRef& budget) {
  if (!agrees(s.nesting, dims))
    return Error(Code::Type, fmt::format("the literal has the shape of {}, not of {}", type_text(dtype, s.nesting),
                                         type_text(dtype, dims)));
  Result<Tensor> t = Tensor::make(budget, dtype, dims);
  if (!t) return t;
  std::byte* out = t->data();
  for (std::string_view item : s.items) {
    if (!store(dtype, item, out)) return Error(Code::Syntax, fmt::format("'{}' is no value of {}", item, name(dtype)));
    out += size_of(dtype);
  }
  return t;
}

}  // namespace

Result<Tensor> parse_tensor(std::string_view text, const BudgetRef& budget) {
  Scanner s(text);
  if (auto r = s.run(); !r) return std::move(r).error();
  return fill(s, s.dtype ? *s.dtype : looks_like(s.items), s.dims ? Dims(*s.dims) : Dims(s.nesting), budget);
}

Result<Tensor> parse_tensor_as(std::string_view text, DType dtype, Dims dims, const BudgetRef& budget) {
  Scanner s(text);
  if (auto r = s.run(); !r) return std::move(r).error();
  if (s.dtype && (*s.dtype != dtype || Dims(*s.dims).size() != dims.size() ||
                  !std::equal(dims.begin(), dims.end(), s.dims->begin())))
    return Error(Code::Type, fmt::format("{} expected, not {}", type_text(dtype, dims), type_text(*s.dtype, *s.dims)));
  return fill(s, dtype, dims, budget);
}

}  // namespace tfvm
