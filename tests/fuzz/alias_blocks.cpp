// Blocks of a random program: branches and loops, which write into what they capture and give values.
#include <fmt/format.h>

#include "tests/fuzz/alias_maker.h"

namespace tfvm::test {

// The statements of a block; its own values end with it.
void AliasMaker::block(int depth) {
  const std::vector<AliasValue> outer = values;
  const std::string before = indent_;
  indent_ += "  ";
  for (std::int64_t n = pick(1, 4); n > 0; --n) statement(depth - 1);
  indent_ = before;
  inner_ = std::move(values);
  values = outer;
}

std::string AliasMaker::inner_like(const Dimensions& dims, const std::string& otherwise) {
  std::vector<std::string> fits;
  for (const AliasValue& v : inner_)
    if (v.layout.dims == dims) fits.push_back(v.name);
  return fits.empty() ? otherwise : fits[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(fits.size()) - 1))];
}

void AliasMaker::branch(int depth) {
  const AliasValue v = any();
  const std::string p = fresh_name(), r = fresh_name();
  line(smooth_ ? fmt::format("{} = clone {}", p, pick(0, 1) != 0) : fmt::format("{}s = reduce_sum {}", p, v.name));
  if (!smooth_) line(fmt::format("{} = gt {}s, 0.3", p, p));
  line(fmt::format("{} = if {} {{", r, p));
  for (const char* end : {"} else {", "}"}) {
    block(depth);
    line("  yield " + inner_like(v.layout.dims, v.name));
    line(end);
  }
  add(r, row_major(v.layout.dims), v.layout.elements(), true);
}

// A scan, over a value in one case of two.
void AliasMaker::loop(int depth) {
  const AliasValue v = any(), x = any();
  const bool over = !x.layout.dims.empty() && x.layout.dims[0] <= 3 && pick(0, 1);
  const std::string c = fresh_name(), ys = fresh_name();
  const std::int64_t length = over ? x.layout.dims[0] : pick(0, 3);
  const char* back = pick(0, 3) ? "" : ", reverse=true";
  line(fmt::format("{}, {} = scan ({}c = {};{}) {{length={}{}}} {{", c, ys, c, v.name,
                   over ? fmt::format(" {}x = {}", c, x.name) : "", length, back));
  const std::vector<AliasValue> outer = values;
  values.push_back({c + "c", row_major(v.layout.dims), v.layout.elements(), true});
  if (over) {
    const Layout part = row_major(Dimensions(x.layout.dims.begin() + 1, x.layout.dims.end()));
    values.push_back({c + "x", part, part.elements(), true});
  }
  block(depth);
  values = outer;
  const std::string carry = inner_like(v.layout.dims, c + "c");
  line(fmt::format("  yield {}; {}", carry, inner_like(v.layout.dims, carry)));
  line("}");
  Dimensions dims = v.layout.dims;
  add(c, row_major(dims), v.layout.elements(), true);
  dims.insert(dims.begin(), length);
  add(ys, row_major(dims), row_major(dims).elements(), true);
}

// A while of two trips at most.
void AliasMaker::repeat(int depth) {
  const AliasValue v = any();
  const std::string c = fresh_name();
  line(fmt::format("{}n, {} = while ({}i = 0, {}c = {}) {{", c, c, c, c, v.name));
  line(fmt::format("  {}g = lt {}i, {}", c, c, pick(0, 2)));
  line(fmt::format("  yield {}g", c));
  line("} do {");
  const std::vector<AliasValue> outer = values;
  values.push_back({c + "c", row_major(v.layout.dims), v.layout.elements(), true});
  block(depth);
  values = outer;
  line(fmt::format("  {}j = add {}i, 1", c, c));
  line(fmt::format("  yield {}j, {}", c, inner_like(v.layout.dims, c + "c")));
  line("}");
  add(c, row_major(v.layout.dims), v.layout.elements(), true);
}

}  // namespace tfvm::test
