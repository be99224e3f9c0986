#include "functionalize/reinplace.h"

#include <algorithm>
#include <unordered_map>

#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "bytecode/externs.h"
#include "bytecode/rewriter.h"
#include "functionalize/regions.h"

namespace tfvm {

using namespace functional;

namespace {

bool is_functional_custom(Op op) { return op == Op::auto_functionalized || op == Op::auto_functionalized_v2; }

bool has_custom(const Tables& t, FunctionId f, std::unordered_map<BodyId, bool>& known) {
  if (const auto it = known.find(f.body); it != known.end()) return it->second;
  const Body& body = t.body(f);
  bool found = false;
  for (std::uint32_t i = 0; i < body.num_instrs() && !found; ++i) {
    const Instr in = body.instr(i);
    found = is_functional_custom(in.op);
    for (FunctionId g : callees(t, in.op, in.attrs)) found = found || has_custom(t, g, known);
  }
  known.emplace(f.body, found);
  return found;
}

class Reinplace {
 public:
  Reinplace(Tables& t, FunctionId f, std::span<const std::uint32_t> into, ReinplaceLog* log)
      : t_(t),
        f_(f),
        body_(t.body(f)),
        into_(into),
        log_(log),
        b_(t, {}, f, "reinplace"),
        rw_(b_, f),
        regions_(t, body_),
        defs_(definitions(body_)) {
    b_.set_full();
  }

  Result<FunctionId> run() {
    for (std::uint32_t i = 0; i < body_.num_instrs() && !b_.failed(); ++i) {
      const Instr in = body_.instr(i);
      regions_.instr(in);
      if (is_functional_custom(in.op))
        custom(i, in);
      else
        other(static_cast<InstrId>(i), in);
    }
    if (b_.failed()) return b_.error();
    const std::size_t own = body_.results.size() - into_.size();
    // Results may be views of inputs, so they are copied before these are written back.
    const std::vector<ValueId> results = fresh_results(own);
    write_back(std::span(body_.results).subspan(own));
    return b_.seal(results);
  }

 private:
  // One argument of the op: a value, or a view of base number `base`.
  struct Argument {
    ValueId value = kNoValue;
    std::optional<std::size_t> base;
    AttrId view{};
    bool mut = false;
  };
  struct Call {
    std::vector<Argument> args;
    std::vector<ValueId> bases;
    std::size_t results = 0;
  };

  // A caller may write into what it is given: results share no storage with inputs, globals and each other.
  std::vector<ValueId> fresh_results(std::size_t own) {
    std::vector<ValueId> results, roots;
    for (std::size_t k = 0; k < own && !b_.failed(); ++k) {
      const ValueId v = body_.results[k], root = regions_.root(v);
      const InstrId def = defs_[index(root)];
      const bool shared =
          def == kNone<InstrId> || body_.ops[index(def)] == Op::global || std::ranges::find(roots, root) != roots.end();
      const bool tensor = t_.types[body_.type(v)].is_tensor();
      results.push_back(shared && tensor ? b_.emit(Op::clone, {rw_(v)}) : rw_(v));
      roots.push_back(root);
    }
    return results;
  }

  bool fail(const Error& e) {
    b_.fail(e.code, e.message);
    return false;
  }

  void other(InstrId i, const Instr& in) {
    std::unordered_map<BodyId, bool> known;
    const std::vector<FunctionId> functions = callees(t_, in.op, in.attrs);
    if (std::ranges::none_of(functions, [&](FunctionId g) { return has_custom(t_, g, known); })) return rw_.copy(i);
    rw_.begin(i);
    const AttrId attrs = with_callees(in.attrs);
    if (b_.failed()) return;
    std::vector<ValueId> operands;
    for (ValueId v : in.operands) operands.push_back(rw_(v));
    const std::vector<ValueId> results = b_.emit_all(in.op, operands, attrs);
    for (std::uint32_t k = 0; k < results.size(); ++k) rw_.map(in.result(k), results[k]);
  }

  AttrId with_callees(AttrId id) {
    const Attr a = t_.attrs[id];
    if (a.kind == AttrKind::Func) {
      std::unordered_map<BodyId, bool> known;
      if (!has_custom(t_, a.func, known)) return id;
      const Result<FunctionId> f = Reinplace(t_, a.func, {}, log_).run();
      if (f) return t_.attrs.of(*f);
      fail(f.error());
      return id;
    }
    std::vector<AttrId> items;
    for (AttrId item : a.items) items.push_back(with_callees(item));
    if (a.kind == AttrKind::List) return t_.attrs.list(items);
    return a.kind == AttrKind::Dict ? t_.attrs.dict(std::vector<Key>(a.keys.begin(), a.keys.end()), items) : id;
  }

  bool read_call(const Instr& in, Call& c) {
    const bool v2 = in.op == Op::auto_functionalized_v2;
    const Attr numbers = t_.attrs[t_.attrs.get(in.attrs, Key::arg_base)],
               views = t_.attrs[t_.attrs.get(in.attrs, Key::views)];
    std::size_t count = v2 ? std::max(numbers.items.size(), numbers.ints.size()) : in.operands.size();
    const Result<ExternArgs> args = extern_args(t_, in.attrs, count);
    if (!args) return fail(args.error());
    std::size_t other = 0, view = 0, others = 0;
    const auto number = [&](std::size_t k) -> std::optional<std::size_t> {
      if (!numbers.ints.empty()) return static_cast<std::size_t>(numbers.ints[k]);
      const Attr& a = t_.attrs[numbers.items[k]];
      return a.kind == AttrKind::Int ? std::optional(static_cast<std::size_t>(a.i)) : std::nullopt;
    };
    for (std::size_t k = 0; k < count && v2; ++k) others += !number(k);
    for (std::size_t k = 0; k < count; ++k) {
      Argument a;
      a.mut = args->mut[k];
      if (v2) a.base = number(k);
      if (!v2 && a.mut) a.base = c.bases.size(), c.bases.push_back(in.operands[k]);
      if (!a.base) a.value = in.operands[v2 ? other++ : k];
      if (v2 && a.base) a.view = views.items[view++];
      if (!v2) a.view = t_.attrs.call(t_.strings.intern("alias"), {});
      c.args.push_back(a);
    }
    if (v2) c.bases.assign(in.operands.begin() + static_cast<std::ptrdiff_t>(others), in.operands.end());
    c.results = in.num_results - c.bases.size();
    return true;
  }

  // The ops that an entry of `views` stands for, as links on the base.
  Chain links(AttrId view, TypeId base) {
    const Attr a = t_.attrs[view];
    if (a.kind == AttrKind::List) {
      Chain all;
      for (AttrId step : a.items)
        for (const View& v : links(step, all.empty() ? base : all.back().to)) all.push_back(v);
      return all;
    }
    const std::string_view name = t_.strings[a.str];
    const auto number = [&](std::size_t k) { return t_.attrs[a.items[k]].i; };
    if (name == "alias") return {};
    const Dims d = t_.types.dims(base);
    const DType dtype = t_.types.dtype(base);
    if (name == "as_strided") {
      const Ints shape = t_.attrs[a.items[0]].ints;
      const AttrId attrs =
          t_.attrs.dict({{Key::shape, a.items[0]}, {Key::strides, a.items[1]}, {Key::offset, number(2)}});
      return {{Op::as_strided, attrs, base, t_.types.tensor(dtype, shape)}};
    }
    std::vector<std::int64_t> start(d.size(), 0), limit(d.begin(), d.end()), step(d.size(), 1), part = limit;
    const auto k = static_cast<std::size_t>(number(0));
    const bool select = name == "select";
    start[k] = number(1);
    limit[k] = select ? number(1) + 1 : number(2);
    step[k] = select ? 1 : number(3);
    part[k] = (limit[k] - start[k] + step[k] - 1) / step[k];
    const AttrId cut = t_.attrs.dict({{Key::start, Ints(start)}, {Key::limit, Ints(limit)}, {Key::stride, Ints(step)}});
    Chain out{{Op::slice, cut, base, t_.types.tensor(dtype, part)}};
    if (!select) return out;
    part.erase(part.begin() + static_cast<std::ptrdiff_t>(k));
    const TypeId to = t_.types.tensor(dtype, part);
    out.push_back({Op::view, t_.attrs.dict({{Key::shape, Ints(part)}}), out[0].to, to});
    return out;
  }

  Strided place_of(AttrId view, TypeId base) {
    Strided s = row_major(t_.types.dims(base));
    for (const View& v : links(view, base))
      if (Result<Strided> next = lie(t_, v, s, t_.types.elements(base))) s = *std::move(next);
    return s;
  }

  std::string read_text(const Read& r) const {
    if (r.instr == Read::kEnd) return "read later: it is a result";
    const Instr in = body_.instr(r.instr);
    std::string op(name(in.op));
    if (is_functional_custom(in.op)) op += " " + std::string(t_.attrs.get_str(in.attrs, Key::op));
    const Loc loc = t_.debugs.find_loc(f_.debug, static_cast<InstrId>(r.instr));
    return "read later by " + op + (loc.line ? " line " + std::to_string(loc.line) : "");
  }

  bool is_strided(AttrId view) const {
    const Attr& a = t_.attrs[view];
    return a.kind == AttrKind::Call && t_.strings[a.str] == "as_strided";
  }

  // Why base number k can't be written in place; empty where it can.
  std::string refusal(std::uint32_t i, const Call& c, std::size_t k) {
    const ValueId v = c.bases[k], root = regions_.root(v);
    const TypeId type = body_.type(v);
    if (regions_.place(v) != row_major(t_.types.dims(type)) ||
        t_.types.elements(body_.type(root)) != t_.types.elements(type))
      return "is a view of " + name_of(root);
    const InstrId def = defs_[index(root)];
    if (def == kNone<InstrId>) {
      if (std::ranges::find(into_, index(root)) == into_.end()) return "is an input";
      for (const Argument& a : c.args)
        if (a.base == k && is_strided(a.view)) return "is an input whose strides may be any";
    } else if (body_.ops[index(def)] == Op::constant || body_.ops[index(def)] == Op::global) {
      return body_.ops[index(def)] == Op::global ? "is a param or buffer" : "is a constant";
    }
    // The op must not find one storage under two arguments that the program gave it as two values.
    for (std::size_t j = 0; j < k; ++j)
      if (regions_.root(c.bases[j]) == root) return "is base " + std::to_string(j) + " too";
    for (const Argument& a : c.args)
      if (!a.base && a.value != kNoValue && regions_.root(a.value) == root) return "is read by the op itself";
    std::vector<Strided> written;
    for (const Argument& a : c.args)
      if (a.base == k && a.mut) written.push_back(place_of(a.view, type));
    const std::optional<Read> read = regions_.read_behind(i, v, written);
    return read ? read_text(*read) : std::string();
  }

  std::string name_of(ValueId v) const {
    const std::string name = t_.debugs.value_name(f_.debug, v, t_.strings);
    return '%' + (name.empty() ? std::to_string(index(v)) : name);
  }

  void custom(std::uint32_t i, const Instr& in) {
    rw_.begin(static_cast<InstrId>(i));
    Call c;
    if (!read_call(in, c)) return;
    ReinplaceEntry entry{std::string(name(in.op)),
                         std::string(t_.attrs.get_str(in.attrs, Key::op)),
                         t_.debugs.find_loc(f_.debug, static_cast<InstrId>(i)).line,
                         {},
                         {},
                         {}};
    std::vector<ValueId> bases;
    for (std::size_t k = 0; k < c.bases.size(); ++k) {
      const auto number = static_cast<std::uint32_t>(k);
      const std::string why = refusal(i, c, k);
      const ValueId result = in.result(static_cast<std::uint32_t>(c.results + k));
      entry.tried.push_back(number);
      if (why.empty()) {
        entry.done.push_back(number);
        bases.push_back(rw_(c.bases[k]));
        regions_.set(result, regions_.root(c.bases[k]));
      } else {
        entry.missed.push_back({number, name_of(c.bases[k]), why, t_.types.bytes(body_.type(c.bases[k]))});
        bases.push_back(b_.emit(Op::clone, {rw_(c.bases[k])}));
      }
      rw_.map(result, bases.back());
    }
    if (log_) log_->push_back(entry);
    if (t_.attrs.get_bool(in.attrs, Key::inplace) && !entry.missed.empty()) {
      const Missed& m = entry.missed[0];
      b_.fail(Code::Type, "[" + entry.custom + "] {inplace=true}: " + m.value + " " +
                              (m.why.starts_with("read") ? "is " : "") + m.why + ", so " + std::to_string(m.bytes) +
                              " bytes would be copied");
      return;
    }
    std::vector<ValueId> operands;
    for (const Argument& a : c.args) {
      ValueId v = a.base ? bases[*a.base] : rw_(a.value);
      if (a.base)
        for (const View& link : links(a.view, body_.type(c.bases[*a.base])))
          if (!b_.failed()) v = b_.emit(link.op, std::span(&v, 1), link.attrs);
      operands.push_back(v);
    }
    const AttrId attrs =
        t_.attrs.dict({{Key::op, t_.attrs.get(in.attrs, Key::op)}, {Key::args, t_.attrs.get(in.attrs, Key::args)}});
    const std::vector<ValueId> results = b_.emit_all(Op::extern_, operands, attrs);
    for (std::size_t k = 0; k < results.size(); ++k) rw_.map(in.result(static_cast<std::uint32_t>(k)), results[k]);
  }

  // New values of inputs; a copy onto itself goes. What lies in another such input is copied before that is written.
  void write_back(std::span<const ValueId> news) {
    std::vector<ValueId> values;
    for (std::size_t j = 0; j < news.size() && !b_.failed(); ++j) {
      const ValueId root = regions_.root(news[j]);
      const bool other = index(root) != into_[j] && std::ranges::find(into_, index(root)) != into_.end();
      const bool same =
          index(root) == into_[j] && regions_.place(news[j]) == row_major(t_.types.dims(body_.type(root)));
      const bool moved = other || (index(root) == into_[j] && !same);
      values.push_back(same ? kNoValue : moved ? b_.emit(Op::clone, {rw_(news[j])}) : rw_(news[j]));
    }
    for (std::size_t j = 0; j < values.size() && !b_.failed(); ++j)
      if (values[j] != kNoValue) b_.emit(Op::copy_, {rw_(static_cast<ValueId>(into_[j])), values[j]});
  }

  Tables& t_;
  FunctionId f_;
  const Body& body_;
  std::span<const std::uint32_t> into_;
  ReinplaceLog* log_;
  Builder b_;
  Rewriter rw_;
  Regions regions_;
  std::vector<InstrId> defs_;
};

std::string list(std::span<const std::uint32_t> v) {
  std::string s;
  for (std::uint32_t i : v) s += (s.empty() ? "" : ",") + std::to_string(i);
  return '[' + s + ']';
}

}  // namespace

std::int64_t ReinplaceEntry::bytes() const {
  std::int64_t n = 0;
  for (const Missed& m : missed) n += m.bytes;
  return n;
}

Result<FunctionId> reinplace(Tables& t, FunctionId f, std::span<const std::uint32_t> into, ReinplaceLog* log) {
  return Reinplace(t, f, into, log).run();
}

bool has_functional_custom(const Tables& t, FunctionId f) {
  std::unordered_map<BodyId, bool> known;
  return has_custom(t, f, known);
}

std::string text(const ReinplaceEntry& e) {
  std::string s = e.op + " " + e.custom + (e.line ? " line " + std::to_string(e.line) : "") + ": bases " +
                  list(e.tried) + "; in place " + list(e.done);
  for (const Missed& m : e.missed) s += "; missed [" + std::to_string(m.base) + "] " + m.value + ": " + m.why;
  return s + "; " + std::to_string(e.bytes()) + " bytes";
}

}  // namespace tfvm
