#include "tests/fuzz/alias_program.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/eager/view.h"

namespace tfvm::test {

const char* const kAliasHelpers = R"(
extern op "fz.two"(mut %a: f64[..], mut %b: f64[..])
extern op "fz.sum"(%a: f64[..]) -> f64
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
)";

namespace {

using Dimensions = std::vector<std::int64_t>;

struct Value {
  std::string name;
  Layout layout;
  std::int64_t room;  // elements of its storage
  bool writable;      // not of the input that isn't mut
};

bool pick_one(std::mt19937_64& rng) { return rng() % 2 == 0; }

std::string list(const Dimensions& v) { return fmt::format("[{}]", fmt::join(v, ", ")); }

class Maker {
 public:
  Maker(std::mt19937_64& rng, bool smooth) : rng_(rng), smooth_(smooth) {}
  std::vector<Value> values;
  std::string text;

  void statements(int n, int depth) {
    for (; n > 0; --n) statement(depth);
  }
  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(rng_);
  }
  // `yield` or `ret` some values.
  std::vector<const Value*> some(std::size_t most) {
    std::vector<const Value*> out;
    for (std::size_t n = static_cast<std::size_t>(pick(1, static_cast<std::int64_t>(most))); n > 0; --n)
      out.push_back(&any());
    return out;
  }

 private:
  const Value& any() { return values[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(values.size()) - 1))]; }
  const Value* target() {
    for (int k = 0; k < 8; ++k)
      if (const Value& v = any(); v.writable && !overlaps_itself(v.layout)) return &v;
    return nullptr;
  }
  const Value* like(const Dimensions& dims) {
    for (int k = 0; k < 12; ++k)
      if (const Value& v = any(); v.layout.dims == dims) return &v;
    return nullptr;
  }
  std::string fresh_name() { return fmt::format("%v{}", ++names_); }
  void line(const std::string& s) { text += indent_ + s + "\n"; }

  void add(const std::string& name, Layout layout, std::int64_t room, bool writable) {
    if (layout.elements() > 96 || layout.rank() > 4) return;
    values.push_back({name, std::move(layout), room, writable});
  }
  void add_view(const Value& of, Layout layout, const std::string& op) {
    const std::string name = fresh_name();
    const Value copy = of;
    line(fmt::format("{} = {}", name, op));
    add(name, std::move(layout), copy.room, copy.writable);
  }
  void add_fresh(const Dimensions& dims, const std::string& op) {
    const std::string name = fresh_name();
    const Layout layout = row_major(dims);
    line(fmt::format("{} = {}", name, op));
    add(name, layout, layout.elements(), true);
  }

  void statement(int depth) {
    const std::int64_t kind = pick(0, 99);
    if (kind < 38) return view();
    if (kind < 52) return fresh();
    if (kind < 84) return write();
    if (kind < 92 || depth == 0) return call();
    return kind < 96 ? branch(depth) : loop(depth);
  }

  void view() {
    const Value v = any();
    const Layout& x = v.layout;
    const auto rank = static_cast<std::int64_t>(x.dims.size());
    const std::int64_t axis = rank ? pick(0, rank - 1) : 0;
    const auto at = static_cast<std::size_t>(axis);
    Layout y = x;
    switch (rank == 0 ? 9 : pick(0, 10)) {
      case 0: {
        Dimensions start, limit, stride;
        for (std::int64_t d : x.dims) {
          start.push_back(pick(0, std::max<std::int64_t>(d - 1, 0)));
          limit.push_back(pick(start.back(), d));
          stride.push_back(pick(1, 2));
        }
        return add_view(
            v, sliced(x, start, limit, stride),
            fmt::format("slice {} {{start={}, limit={}, stride={}}}", v.name, list(start), list(limit), list(stride)));
      }
      case 1: {
        if (x.dims[at] == 0) return;
        const std::int64_t index = pick(0, x.dims[at] - 1);
        y.offset += index * x.strides[at];
        y.dims.erase(y.dims.begin() + axis), y.strides.erase(y.strides.begin() + axis);
        return add_view(v, y, fmt::format("select {} {{axis={}, index={}}}", v.name, axis, index));
      }
      case 2: {
        const std::int64_t start = pick(0, x.dims[at]), length = pick(0, x.dims[at] - start);
        if (length > 0) y.offset += start * x.strides[at];
        y.dims[at] = length;
        return add_view(v, y, fmt::format("narrow {} {{axis={}, start={}, length={}}}", v.name, axis, start, length));
      }
      case 3: {
        Dimensions perm(x.dims.size());
        for (std::size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<std::int64_t>(k);
        std::ranges::shuffle(perm, rng_);
        return add_view(v, transposed(x, perm), fmt::format("permute {} {{perm={}}}", v.name, list(perm)));
      }
      case 4: {
        Dimensions dims = x.dims;
        dims.insert(dims.begin() + axis, 1);
        if (const auto layout = reshaped(x, dims))
          return add_view(v, *layout, fmt::format("unsqueeze {} {{axis={}}}", v.name, axis));
        return;
      }
      case 5: {
        const std::int64_t n = x.elements();
        Dimensions dims{n};
        if (n > 0 && n % 2 == 0 && pick(0, 1)) dims = {2, n / 2};
        if (n > 0 && n % 3 == 0 && pick(0, 1)) dims = {n / 3, 3};
        if (const auto layout = reshaped(x, dims))
          return add_view(v, *layout, fmt::format("view {} {{shape={}}}", v.name, list(dims)));
        return;
      }
      case 6: {
        Dimensions dims = x.dims;
        dims.insert(dims.begin(), 2);
        return add_view(v, broadcast(x, dims), fmt::format("expand {} {{shape={}}}", v.name, list(dims)));
      }
      case 7: {
        if (rank != 2) return;
        const std::int64_t n = std::min(x.dims[0], x.dims[1]);
        return add_view(v, Layout{{n}, {x.strides[0] + x.strides[1]}, x.offset},
                        fmt::format("diagonal {} {{offset=0, axis1=0, axis2=1}}", v.name));
      }
      case 8: {
        const std::int64_t size = pick(0, x.dims[at]), step = pick(1, 3);
        y.dims[at] = (x.dims[at] - size) / step + 1;
        y.dims.push_back(size), y.strides.push_back(x.strides[at]);
        y.strides[at] *= step;
        return add_view(v, y, fmt::format("unfold {} {{axis={}, size={}, step={}}}", v.name, axis, size, step));
      }
      case 9:
        return add_view(v, x, fmt::format("alias {}", v.name));
      default: {
        const Layout s{{pick(1, 3), pick(1, 3)}, {pick(0, 4), pick(1, 3)}, pick(0, 3)};
        if (extent(s).end > v.room || indent_.size() > 2) return;  // not of what a block captures
        return add_view(v, s,
                        fmt::format("as_strided {} {{shape={}, strides={}, offset={}}}", v.name, list(s.dims),
                                    list(s.strides), s.offset));
      }
    }
  }

  void fresh() {
    const Value v = any();
    const Dimensions dims = v.layout.dims;
    switch (pick(0, 4)) {
      case 0:
        if (const Value* u = like(dims)) return add_fresh(dims, fmt::format("add {}, {}", v.name, u->name));
        return;
      case 1:
        return add_fresh(dims, fmt::format("mul {}, 0.5", v.name));
      case 2:
        return add_fresh(dims, fmt::format("sin {}", v.name));
      case 3:
        return add_fresh({v.layout.elements()}, fmt::format("reshape {} {{shape=[{}]}}", v.name, v.layout.elements()));
      default:
        return add_fresh(dims, fmt::format("clone {}", v.name));
    }
  }

  // Its result is the target again, under one more name.
  void write() {
    const Value* found = target();
    if (!found) return;
    const Value x = *found;
    const Value* u = like(x.layout.dims);
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
  std::string update(const Value& x) {
    for (int k = 0; k < 6; ++k) {
      const Value& u = any();
      bool fits = u.layout.dims.size() == x.layout.dims.size();
      for (std::size_t d = 0; fits && d < u.layout.dims.size(); ++d) fits = u.layout.dims[d] <= x.layout.dims[d];
      if (!fits) continue;
      std::string op = fmt::format("dynamic_update_slice_ {}, {}", x.name, u.name);
      for (std::size_t d = 0; d < x.layout.dims.size(); ++d) op += fmt::format(", {}", pick(-1, 3));
      return op;
    }
    return {};
  }
  std::string put(const Value& x) {
    if (x.layout.dims.empty() || x.layout.dims[0] == 0) return {};
    const std::int64_t n = x.layout.dims[0];
    return fmt::format("index_put_ {}, [{}, {}], 0.625 {{accumulate={}}}", x.name, pick(-n, n - 1), pick(0, n - 1),
                       pick(0, 1) != 0);
  }

  void call() {
    const Value *a = target(), *b = target();
    if (!a || !b) return;
    const Value x = *a, y = *b;
    switch (pick(0, smooth_ ? 2 : 4)) {
      case 0:
        return line(fmt::format("call @two({}, {})", x.name, y.name));
      case 1: {
        if (x.layout.dims.empty() || x.layout.dims[0] == 0) return;
        Layout row = x.layout;
        row.dims.erase(row.dims.begin()), row.strides.erase(row.strides.begin());
        return add_view(x, row, fmt::format("call @row({})", x.name));
      }
      case 2: {
        if (x.layout.dims != y.layout.dims) return;
        const std::string one = fresh_name(), other = fresh_name();
        line(fmt::format("{}, {} = call @same({}, {})", one, other, x.name, y.name));
        add(one, x.layout, x.room, true);
        return add(other, row_major(x.layout.dims), x.layout.elements(), true);
      }
      case 3:
        return line(fmt::format("fz.two {}, {}", x.name, y.name));
      default:
        return add_fresh({}, fmt::format("fz.sum {}", x.name));
    }
  }

  // The statements of a block; its own values end with it.
  void block(int depth) {
    const std::vector<Value> outer = values;
    const std::string before = indent_;
    indent_ += "  ";
    statements(static_cast<int>(pick(1, 4)), depth - 1);
    indent_ = before;
    inner_ = std::move(values);
    values = outer;
  }
  std::string inner_like(const Dimensions& dims, const std::string& otherwise) {
    std::vector<std::string> fits;
    for (const Value& v : inner_)
      if (v.layout.dims == dims) fits.push_back(v.name);
    return fits.empty() ? otherwise
                        : fits[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(fits.size()) - 1))];
  }
  void branch(int depth) {
    const Value v = any();
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
  void loop(int depth) {
    const Value v = any();
    const std::string c = fresh_name(), ys = fresh_name();
    const std::int64_t length = pick(0, 3);
    line(fmt::format("{}, {} = scan ({}c = {};) {{length={}}} {{", c, ys, c, v.name, length));
    const std::vector<Value> outer = values;
    values.push_back({c + "c", row_major(v.layout.dims), v.layout.elements(), true});
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

  std::mt19937_64& rng_;
  const bool smooth_;
  std::string indent_ = "  ";
  std::vector<Value> inner_;
  int names_ = 0;
};

std::string returned(Maker& m) {
  std::string s = "  ret ";
  for (const Value* v : m.some(3)) s += (s.size() > 6 ? ", " : "") + v->name;
  return s + "\n}\n";
}

}  // namespace

AliasProgram alias_program(std::uint64_t seed, std::uint64_t k, bool overlap) {
  std::mt19937_64 rng(seed * 1'000'003 + k);
  AliasProgram p;
  p.smooth = k % 2 == 0;
  p.name = fmt::format("f{}", k);
  Maker m(rng, p.smooth);
  Layout a = row_major(Dimensions{3, 4}), b = row_major(Dimensions{6});
  std::int64_t room_a = 12, room_b = 6;
  if (overlap) {
    a = {{3, 4}, {pick_one(rng) ? 4 : 5, 1}, static_cast<std::int64_t>(rng() % 4)};
    b = {{6}, {pick_one(rng) ? 1 : 2}, static_cast<std::int64_t>(rng() % 8)};
    room_a = room_b = 24;
  }
  m.values.push_back({"%a", a, room_a, true});
  m.values.push_back({"%b", b, room_b, true});
  m.values.push_back({"%q", row_major(Dimensions{3, 4}), 12, false});
  m.statements(static_cast<int>(m.pick(3, 10)), 2);
  const std::string head = overlap ? p.name + "i" : p.name;
  p.text = fmt::format("func @{}(mut %a: f64[3,4], mut %b: f64[6], %q: f64[3,4]) {{\n", head) + m.text + returned(m);
  p.inputs = {{3, 4}, {6}, {3, 4}};
  if (!overlap) return p;
  const auto results = std::ranges::count(p.text.substr(p.text.rfind("  ret ")), ',') + 1;
  std::string names;
  for (std::ptrdiff_t r = 0; r < results; ++r) names += fmt::format("{}%r{}", r ? ", " : "", r);
  p.text += fmt::format(
      "func @{}(mut %base: f64[24], %q: f64[3,4]) {{\n  %a = as_strided %base {{shape=[3, 4], strides={}, "
      "offset={}}}\n",
      p.name, list(a.strides), a.offset);
  p.text += fmt::format("  %b = as_strided %base {{shape=[6], strides={}, offset={}}}\n", list(b.strides), b.offset);
  p.text += fmt::format("  {} = call @{}(%a, %b, %q)\n  ret {}\n}}\n", names, head, names);
  p.inputs = {{24}, {3, 4}};
  return p;
}

}  // namespace tfvm::test
