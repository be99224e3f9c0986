// Fresh values, writes and calls of a random program.
#include "tests/fuzz/alias_maker.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/eager/view.h"

namespace tfvm::test {

const AliasValue& AliasMaker::any() {
  return values[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(values.size()) - 1))];
}

const AliasValue* AliasMaker::target() {
  for (int k = 0; k < 8; ++k)
    if (const AliasValue& v = any(); v.writable && !overlaps_itself(v.layout)) return &v;
  return nullptr;
}

const AliasValue* AliasMaker::like(const Dimensions& dims) {
  for (int k = 0; k < 12; ++k)
    if (const AliasValue& v = any(); v.layout.dims == dims) return &v;
  return nullptr;
}

std::vector<const AliasValue*> AliasMaker::some(std::size_t most) {
  std::vector<const AliasValue*> out;
  for (std::size_t n = static_cast<std::size_t>(pick(1, static_cast<std::int64_t>(most))); n > 0; --n)
    out.push_back(&any());
  return out;
}

std::string AliasMaker::fresh_name() { return fmt::format("%v{}", ++names_); }

void AliasMaker::add(const std::string& name, Layout layout, std::int64_t room, bool writable) {
  if (layout.elements() > 96 || layout.rank() > 4) return;
  values.push_back({name, std::move(layout), room, writable});
}

void AliasMaker::add_view(const AliasValue& of, Layout layout, const std::string& op) {
  const std::string name = fresh_name();
  const AliasValue copy = of;
  line(fmt::format("{} = {}", name, op));
  add(name, std::move(layout), copy.room, copy.writable);
}

void AliasMaker::add_fresh(const Dimensions& dims, const std::string& op) {
  const std::string name = fresh_name();
  const Layout layout = row_major(dims);
  line(fmt::format("{} = {}", name, op));
  add(name, layout, layout.elements(), true);
}

void AliasMaker::statement(int depth) {
  const std::int64_t kind = pick(0, 99);
  if (kind < 37) return view();
  if (kind < 50) return fresh();
  if (kind < 80) return write();
  if (kind < 91 || depth == 0) return call();
  return kind < 94 ? branch(depth) : kind < 98 ? loop(depth) : repeat(depth);
}

void AliasMaker::fresh() {
  const AliasValue v = any();
  const Dimensions dims = v.layout.dims;
  switch (pick(0, 5)) {
    case 0:
      if (const AliasValue* u = like(dims)) return add_fresh(dims, fmt::format("add {}, {}", v.name, u->name));
      return;
    case 1:
      return add_fresh(dims, fmt::format("mul {}, 0.5", v.name));
    case 2:
      return add_fresh(dims, fmt::format("sin {}", v.name));
    case 3:
      return add_fresh({v.layout.elements()}, fmt::format("reshape {} {{shape=[{}]}}", v.name, v.layout.elements()));
    case 4:  // a custom op that writes, with a rule of its own
      return add_fresh(dims, fmt::format("call @half({})", v.name));
    default:
      return add_fresh(dims, fmt::format("clone {}", v.name));
  }
}

// Its result is the target again, under one more name.
void AliasMaker::write() {
  const AliasValue* found = target();
  if (!found) return;
  const AliasValue x = *found;
  const AliasValue* u = like(x.layout.dims);
  const std::string other = u && pick(0, 2) ? u->name : fmt::format("{:.2f}", static_cast<double>(pick(-9, 9)) / 8);
  std::string op;
  switch (pick(0, smooth_ ? 6 : 9)) {
    case 0:
      op = fmt::format("mul_ {}, {}", x.name, other);
      break;
    case 1:
      op = fmt::format("sin_ {}", x.name);
      break;
    case 2:
      op = fmt::format("copy_ {}, {}", x.name, other);
      break;
    case 3:
      op = fmt::format("fill_ {}, 0.75", x.name);
      break;
    case 4:
      op = update(x);
      break;
    case 5:
      op = put(x);
      break;
    case 7:
      op = fmt::format("zero_ {}", x.name);
      break;
    case 8: {
      const std::string mask = fresh_name();
      line(fmt::format("{} = gt {}, 0.1", mask, x.name));
      op = fmt::format("masked_fill_ {}, {}, -0.5", x.name, mask);
      break;
    }
    default:
      op = fmt::format("add_ {}, {}", x.name, other);
  }
  if (!op.empty()) add_view(x, x.layout, op);
}
std::string AliasMaker::update(const AliasValue& x) {
  for (int k = 0; k < 6; ++k) {
    const AliasValue& u = any();
    bool fits = u.layout.dims.size() == x.layout.dims.size();
    for (std::size_t d = 0; fits && d < u.layout.dims.size(); ++d) fits = u.layout.dims[d] <= x.layout.dims[d];
    if (!fits) continue;
    std::string op = fmt::format("dynamic_update_slice_ {}, {}", x.name, u.name);
    for (std::size_t d = 0; d < x.layout.dims.size(); ++d) op += fmt::format(", {}", pick(-1, 3));
    return op;
  }
  return {};
}
std::string AliasMaker::put(const AliasValue& x) {
  if (x.layout.dims.empty() || x.layout.dims[0] == 0) return {};
  const std::int64_t n = x.layout.dims[0];
  return fmt::format("index_put_ {}, [{}, {}], 0.625 {{accumulate={}}}", x.name, pick(-n, n - 1), pick(0, n - 1),
                     pick(0, 1) != 0);
}

void AliasMaker::call() {
  const AliasValue *a = target(), *b = target();
  if (!a || !b) return;
  const AliasValue x = *a, y = *b, q = any();
  switch (pick(0, smooth_ ? 2 : 7)) {
    case 0:
      return line(fmt::format("call @two({}, {})", x.name, y.name));
    case 1: {
      if (x.layout.dims.empty() || x.layout.dims[0] == 0) return;
      Layout row = x.layout;
      row.dims.erase(row.dims.begin()), row.strides.erase(row.strides.begin());
      return add_view(x, row, fmt::format("call @row({})", x.name));
    }
    case 2: {
      const AliasValue& z = pick(0, 2) ? y : x;
      if (x.layout.dims != z.layout.dims) return;
      const std::string one = fresh_name(), other = fresh_name();
      line(fmt::format("{}, {} = call @same({}, {})", one, other, x.name, z.name));
      add(one, x.layout, x.room, true);
      return add(other, row_major(x.layout.dims), x.layout.elements(), true);
    }
    case 3:
      return line(fmt::format("fz.two {}, {}", x.name, y.name));
    case 4:
      return line(fmt::format("fz.acc {}, {}", x.name, q.name));
    case 5:
      return line(fmt::format("fz.all {}, {}, {}, {}", x.name, y.name, q.name, pick(0, 1) ? "(none)" : "0.25"));
    case 6: {
      const std::string name = fresh_name();
      line(fmt::format("{} = fz.take {}, {}", name, x.name, q.name));
      return add(name, row_major({}), 1, true);
    }
    default:
      return add_fresh({}, fmt::format("fz.sum {}", x.name));
  }
}

}  // namespace tfvm::test
