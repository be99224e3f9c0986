#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "bytecode/literal.h"
#include "bytecode/text/parse.h"
#include "vm/print.h"

namespace tfvm {

namespace {

struct Parsed {
  std::optional<DType> dtype;  // written
  std::vector<std::int64_t> dims;
  Module pools;
  const Literal& literal() const { return pools.literals[0]; }
  Dims nesting() const { return Module::at(pools.literal_dims, literal().dims); }
};

Error malformed(std::string_view text, const char* at, std::string_view what) {
  return Error(Code::Syntax, fmt::format("column {} of the literal: {}", at - text.data() + 1, what));
}

// `f32[2,3]` in front of the elements; gives what is behind it.
Result<std::string_view> parse_type(std::string_view text, Parsed& p) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", begin), text.size());
  p.dtype = parse_dtype(text.substr(begin, end - begin));
  if (!p.dtype) return text;
  const char* at = text.data() + end;
  const char* const stop = text.data() + text.size();
  if (at == stop || *at != '[') return text.substr(end);
  do {
    ++at;
    while (at != stop && *at == ' ') ++at;
    std::int64_t n = 0;
    const auto r = std::from_chars(at, stop, n);
    if (r.ec != std::errc{} || n < 0) return malformed(text, at, "an extent expected");
    p.dims.push_back(n);
    at = r.ptr;
  } while (at != stop && *at == ',');
  if (at == stop || *at != ']') return malformed(text, at, "',' or ']' expected in the type");
  return std::string_view(at + 1, static_cast<std::size_t>(stop - at - 1));
}

Result<Parsed> parse(std::string_view text) {
  Parsed p;
  const auto rest = parse_type(text, p);
  if (!rest) return rest.error();
  StringTable strings;
  Result<Module> pools = parse_literal(strings, *rest);
  if (!pools) return std::move(pools).error();
  p.pools = *std::move(pools);
  return p;
}

// The nesting shows the dims up to the first one of extent 0; a blob shows none.
bool agrees(const Parsed& p, Dims dims) {
  const auto elements = Module::at(p.pools.elements, p.literal().elements);
  if (!elements.empty() && elements[0].kind() == ElemKind::Blob) return true;
  const Dims shown = p.nesting();
  if (shown.size() > dims.size() || !std::ranges::equal(shown, dims.first(shown.size()))) return false;
  return shown.size() == dims.size() || (!shown.empty() && shown.back() == 0);
}

Result<Tensor> fill(const Parsed& p, DType dtype, Dims dims, const BudgetRef& budget) {
  if (!agrees(p, dims))
    return Error(Code::Type, fmt::format("the literal has the shape of {}, not of {}", type_text(dtype, p.nesting()),
                                         type_text(dtype, dims)));
  std::vector<std::byte> bytes;
  if (Status s = literal_bytes(p.pools, p.literal(), dtype, bytes); !s) return std::move(s).error();
  Result<Tensor> t = Tensor::make(budget, dtype, dims);
  if (!t) return t;
  if (static_cast<std::int64_t>(bytes.size()) != t->bytes())
    return Error(Code::Type, fmt::format("{} bytes, where {} has {}", bytes.size(), t->type_text(), t->bytes()));
  std::ranges::copy(bytes, t->data());
  return t;
}

}  // namespace

Result<Tensor> parse_tensor(std::string_view text, const BudgetRef& budget) {
  const Result<Parsed> p = parse(text);
  if (!p) return p.error();
  if (p->dtype) return fill(*p, *p->dtype, p->dims, budget);
  return fill(*p, natural_dtype(p->pools, p->literal()), p->nesting(), budget);
}

Result<Tensor> parse_tensor_as(std::string_view text, DType dtype, Dims dims, const BudgetRef& budget) {
  const Result<Parsed> p = parse(text);
  if (!p) return p.error();
  if (p->dtype && (*p->dtype != dtype || !std::ranges::equal(p->dims, dims)))
    return Error(Code::Type, fmt::format("{} expected, not {}", type_text(dtype, dims), type_text(*p->dtype, p->dims)));
  return fill(*p, dtype, dims, budget);
}

}  // namespace tfvm
