#include "tests/fuzz/alias_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/fuzz/alias_maker.h"

namespace tfvm::test {

const char* const kAliasHelpers = R"(
extern op "fz.two"(mut %a: f64[..], mut %b: f64[..])
extern op "fz.acc"(mut %a: f64[..], %b: f64[..])
extern op "fz.all"(mut %xs: f64[..], %q: f64[..], %k: f64) {lists=["xs"]}
extern op "fz.take"(mut %a: f64[..], %b: f64[..]) -> f64
extern op "fz.sum"(%a: f64[..]) -> f64
extern op "fz.half"(mut %a: f64[..])
func @two(mut %a: f64[..], mut %b: f64[..]) {
  %w = mul_ %a, 1.5
  %u = add_ %b, 0.25
  ret
}
func @row(mut %a: f64[..]) {
  %v = select %a {axis=0, index=0}
  %w = add_ %v, 0.5
  ret %v
}
func @same(mut %a: f64[..b], mut %b: f64[..b]) {
  %t = mul %a, 0.5
  %w = copy_ %a, %b
  %u = add_ %b, %t
  ret %a, %t
}
func @half(%x: f64[..s]) -> f64[..s] {derivative=@half_rule} {
  %y = clone %x
  fz.half %y
  ret %y
}
func @half_rule(%x: f64[..s], %y: f64[..s], %t: f64[..s]) -> f64[..s] {
  %d = mul %t, 0.5
  ret %d
}
)";

namespace {

using Dimensions = std::vector<std::int64_t>;

std::string list(const Dimensions& v) { return fmt::format("[{}]", fmt::join(v, ", ")); }

std::string numbered(std::string_view name, std::size_t n) {
  std::string s;
  for (std::size_t k = 0; k < n; ++k) s += fmt::format("{}{}{}", k ? ", " : "", name, k);
  return s;
}

// The sum of sin(1.25 v) over the values: each element counts by its own weight.
std::string sum_of(const std::vector<std::string>& values) {
  std::string s = "  %s0 = clone 0.0 : f64\n";
  std::size_t n = 0;
  for (const std::string& v : values) {
    s += fmt::format("  %m{0} = mul {1}, 1.25\n  %w{0} = sin %m{0}\n  %t{0} = reduce_sum %w{0}\n", n, v);
    s += fmt::format("  %s{} = add %s{}, %t{}\n", n + 1, n, n);
    ++n;
  }
  return s + fmt::format("  ret %s{}\n}}\n", n);
}

}  // namespace

AliasProgram alias_program(std::uint64_t seed, std::uint64_t k, bool overlap) {
  std::mt19937_64 rng(seed * 1'000'003 + k);
  AliasProgram p;
  p.smooth = k % 2 == 0;
  p.name = fmt::format("f{}", k);
  AliasMaker m(rng, p.smooth);
  Layout a = row_major(Dimensions{3, 4}), b = row_major(Dimensions{6});
  std::int64_t room_a = 12, room_b = 6;
  if (overlap) {
    a = {{3, 4}, {m.pick(4, 5), 1}, m.pick(0, 3)};
    b = {{6}, {m.pick(1, 2)}, m.pick(0, 7)};
    room_a = room_b = 24;
  }
  m.values.push_back({"%a", a, room_a, true});
  m.values.push_back({"%b", b, room_b, true});
  m.values.push_back({"%q", row_major(Dimensions{3, 4}), 12, false});
  for (std::int64_t n = m.pick(3, 10); n > 0; --n) m.statement(2);
  const std::vector<const AliasValue*> results = m.some(3);
  std::string ret;
  for (const AliasValue* v : results) ret += (ret.empty() ? "  ret " : ", ") + v->name;
  const std::string head = overlap ? p.name + "i" : p.name;
  p.text = fmt::format("func @{}(mut %a: f64[3,4], mut %b: f64[6], %q: f64[3,4]) {{\n", head) + m.text + ret + "\n}\n";
  p.inputs = {{3, 4}, {6}, {3, 4}};
  std::string params = "mut %a: f64[3,4], mut %b: f64[6], %q: f64[3,4]", args = "%a, %b, %q";
  const std::string names = numbered("%r", results.size());
  if (overlap) {
    params = "mut %base: f64[24], %q: f64[3,4]", args = "%base, %q";
    p.inputs = {{24}, {3, 4}};
    p.text += fmt::format("func @{}({}) {{\n", p.name, params);
    p.text +=
        fmt::format("  %a = as_strided %base {{shape=[3, 4], strides={}, offset={}}}\n", list(a.strides), a.offset);
    p.text += fmt::format("  %b = as_strided %base {{shape=[6], strides={}, offset={}}}\n", list(b.strides), b.offset);
    p.text += fmt::format("  {} = call @{}(%a, %b, %q)\n  ret {}\n}}\n", names, head, names);
  }
  if (!p.smooth) return p;
  p.loss = p.name + "l";
  std::vector<std::string> values = overlap ? std::vector<std::string>{"%base"} : std::vector<std::string>{"%a", "%b"};
  for (std::size_t r = 0; r < results.size(); ++r) values.push_back(fmt::format("%r{}", r));
  p.text += fmt::format("func @{}({}) {{\n  {} = call @{}({})\n", p.loss, params, names, p.name, args) + sum_of(values);
  return p;
}

}  // namespace tfvm::test
