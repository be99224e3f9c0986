#include "functionalize/reinplace.h"

#include <algorithm>
#include <unordered_map>

#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "bytecode/rewriter.h"
#include "functionalize/copies.h"
#include "functionalize/custom_call.h"

namespace tfvm {

using namespace functional;

namespace {

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

// Parameters of a body that nothing else sees: the carries and slices of a loop.
struct OwnParams {
  std::uint32_t first = 0xffffffffu;  // and those behind it
  bool has(ValueId v) const { return index(v) >= first; }
};

OwnParams own_params(const Tables& t, const Instr& in, Key callee) {
  if (callee != Key::body || (in.op != Op::scan && in.op != Op::while_)) return {};
  return {static_cast<std::uint32_t>(t.attrs.get_int(in.attrs, in.op == Op::scan ? Key::consts : Key::body_consts))};
}

class Reinplace {
 public:
  Reinplace(Tables& t, FunctionId f, std::span<const std::uint32_t> into, OwnParams own, ReinplaceLog* log)
      : t_(t),
        f_(f),
        body_(t.body(f)),
        into_(into),
        own_(own),
        log_(log),
        b_(t, {}, f, "reinplace"),
        rw_(b_, f),
        regions_(t, body_),
        defs_(definitions(body_)),
        copies_(body_, regions_) {
    for (std::uint32_t k : into) inputs_.push_back(rw_(static_cast<ValueId>(k)));
    b_.set_full();
  }

  Result<FunctionId> run() {
    for (std::uint32_t i = 0; i < body_.num_instrs() && !b_.failed(); ++i) {
      const Instr in = body_.instr(i);
      regions_.instr(in);
      if (is_view(in.op))
        view(static_cast<InstrId>(i), in);
      else if (is_functional_custom(in.op))
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
  // What becomes of one base of a custom op. `why` stands where it is not simply written in place.
  struct Decision {
    std::optional<Missed::How> how;
    std::string why;
    std::int64_t bytes = 0;
  };

  // A caller may write into what it is given: results share no storage with inputs, globals and each other.
  std::vector<ValueId> fresh_results(std::size_t own) {
    std::vector<ValueId> results, roots;
    for (std::size_t k = 0; k < own && !b_.failed(); ++k) {
      const ValueId v = body_.results[k], root = regions_.root(v);
      find_moved(v);
      const InstrId def = defs_[index(root)];
      const bool param = def == kNone<InstrId> && !own_.has(root) && !copies_.is_moved(v);
      const bool shared = param || (def != kNone<InstrId> && body_.ops[index(def)] == Op::global) ||
                          std::ranges::find(roots, root) != roots.end();
      const bool tensor = t_.types[body_.type(v)].is_tensor() && !body_.full;
      results.push_back(shared && tensor ? b_.emit(Op::clone, {rw_(v)}) : rw_(v));
      roots.push_back(root);
    }
    return results;
  }

  bool fail(const Error& e) {
    b_.fail(e.code, e.message);
    return false;
  }

  // A view of what was moved is a view of the copy; else it is one of the storage, until someone reads it.
  void view(InstrId i, const Instr& in) {
    copies_.view(in);
    rw_.copy(i);
  }

  void other(InstrId i, const Instr& in) {
    std::unordered_map<BodyId, bool> known;
    for (ValueId v : in.operands) find_moved(v);
    const std::vector<FunctionId> functions = callees(t_, in.op, in.attrs);
    if (std::ranges::none_of(functions, [&](FunctionId g) { return has_custom(t_, g, known); })) return rw_.copy(i);
    rw_.begin(i);
    const AttrId attrs = with_callees(in, in.attrs, {});
    if (b_.failed()) return;
    std::vector<ValueId> operands;
    for (ValueId v : in.operands) operands.push_back(rw_(v));
    const std::vector<ValueId> results = b_.emit_all(in.op, operands, attrs);
    for (std::uint32_t k = 0; k < results.size(); ++k) rw_.map(in.result(k), results[k]);
  }

  AttrId with_callees(const Instr& in, AttrId id, OwnParams own) {
    const Attr a = t_.attrs[id];
    if (a.kind == AttrKind::Func) {
      std::unordered_map<BodyId, bool> known;
      if (!has_custom(t_, a.func, known)) return id;
      const Result<FunctionId> f = Reinplace(t_, a.func, {}, own, log_).run();
      if (f) return t_.attrs.of(*f);
      fail(f.error());
      return id;
    }
    std::vector<AttrId> items;
    for (std::size_t k = 0; k < a.items.size(); ++k)
      items.push_back(with_callees(in, a.items[k], a.kind == AttrKind::Dict ? own_params(t_, in, a.keys[k]) : own));
    if (a.kind == AttrKind::List) return t_.attrs.list(items);
    return a.kind == AttrKind::Dict ? t_.attrs.dict(std::vector<Key>(a.keys.begin(), a.keys.end()), items) : id;
  }

  // --- what was moved

  // From here on v, where it was moved, is a view of the copy.
  void find_moved(ValueId v) {
    const std::optional<Copies::Found> found = copies_.find(v);
    if (!found) return;
    const bool whole = found->view == row_major(t_.types.dims(b_.type(found->copy)));
    rw_.map(v, whole ? found->copy : emit_strided(found->copy, found->view));
  }

  ValueId emit_strided(ValueId x, const Strided& s) {
    return b_.emit(
        Op::as_strided, std::span(&x, 1),
        t_.attrs.dict({{Key::shape, Ints(s.shape)}, {Key::strides, Ints(s.strides)}, {Key::offset, s.offset}}));
  }

  // --- the region rule

  std::string read_text(const Read& r) const {
    if (r.instr == Read::kEnd) return "read later: it is a result";
    const Instr in = body_.instr(r.instr);
    std::string op(name(in.op));
    if (is_functional_custom(in.op)) op += " " + std::string(t_.attrs.get_str(in.attrs, Key::op));
    const Loc loc = t_.debugs.find_loc(f_.debug, static_cast<InstrId>(r.instr));
    return "read later by " + op + (loc.line ? " line " + std::to_string(loc.line) : "");
  }

  // Why base number k can't be written in its own storage, whoever reads it; empty where it can.
  std::string foreign(const CustomCall& c, std::size_t k) {
    const ValueId v = c.bases[k], root = regions_.root(v);
    const TypeId type = body_.type(v);
    if (copies_.is_moved(v)) return "was copied before";
    if (regions_.place(v) != row_major(t_.types.dims(type)) ||
        t_.types.elements(body_.type(root)) != t_.types.elements(type))
      return "is a view of " + name_of(root);
    const InstrId def = defs_[index(root)];
    if (def == kNone<InstrId> && !own_.has(root)) {
      if (!is_into(root)) return "is an input";
      for (const CustomArgument& a : c.args)
        if (a.base == k && is_strided(t_, a.view)) return "is an input whose strides may be any";
    } else if (def != kNone<InstrId> &&
               (body_.ops[index(def)] == Op::constant || body_.ops[index(def)] == Op::global)) {
      return body_.ops[index(def)] == Op::global ? "is a param or buffer" : "is a constant";
    }
    // The op must not find one storage under two arguments that the program gave it as two values.
    for (std::size_t j = 0; j < k; ++j)
      if (regions_.root(c.bases[j]) == root) return "is base " + std::to_string(j) + " too";
    for (const CustomArgument& a : c.args)
      if (!a.base && a.value != kNoValue && regions_.root(a.value) == root) return "is read by the op itself";
    return {};
  }

  bool is_into(ValueId root) const { return std::ranges::find(into_, index(root)) != into_.end(); }

  bool gets_new_value(ValueId root) const {
    const auto at = std::ranges::find(into_, index(root));
    const std::size_t news = body_.results.size() - into_.size() + static_cast<std::size_t>(at - into_.begin());
    return at != into_.end() && body_.results[news] != root;
  }

  // Can each of these reads be one of copies of the written places?
  bool are_moved(std::span<const LaterRead* const> reads, std::span<const Strided> written, TypeId base) const {
    return std::ranges::all_of(reads, [&](const LaterRead* r) {
      return r->movable && r->place && t_.types.dtype(body_.type(r->value)) == t_.types.dtype(base) &&
             std::ranges::any_of(written, [&](const Strided& w) { return within(w, *r->place).has_value(); });
    });
  }

  // Reads of the old base that meet what is written, and have no copy yet.
  std::vector<const LaterRead*> in_the_way(const std::vector<LaterRead>& reads,
                                           std::span<const Strided> written) const {
    std::vector<const LaterRead*> out;
    for (const LaterRead& r : reads) {
      const auto meets = [&](const Strided& w) { return !r.place || may_intersect(w, *r.place); };
      const bool kept = r.place && copies_.covers(r.value, *r.place);
      if (!kept && std::ranges::any_of(written, meets)) out.push_back(&r);
    }
    return out;
  }

  // Of the storage as it was before instruction i.
  std::vector<LaterRead> old_reads(std::uint32_t i, ValueId root) {
    std::vector<std::uint8_t> marked(body_.num_values(), 0);
    const std::uint32_t first = index(body_.instr(i).first_result);
    for (std::uint32_t v = 0; v < first; ++v)
      marked[v] = regions_.root(static_cast<ValueId>(v)) == root && !copies_.is_moved(static_cast<ValueId>(v));
    copies_.views_behind(i);
    return regions_.reads_behind(i, std::move(marked));
  }

  // Would clones of what the arguments of base k write be all that is read of the new base?
  bool fresh_does(std::uint32_t i, const CustomCall& c, std::size_t k, std::span<const Strided> written,
                  ValueId result) const {
    for (const CustomArgument& a : c.args)
      if (a.base == k && is_strided(t_, a.view)) return false;
    for (std::size_t x = 0; x < c.args.size(); ++x)
      for (std::size_t y = 0; y < c.args.size(); ++y)
        if (x != y && c.args[x].base == k && c.args[y].base == k && c.args[x].mut &&
            may_intersect(place_of(t_, c.args[x].view, body_.type(result)),
                          place_of(t_, c.args[y].view, body_.type(result))))
          return false;
    std::vector<std::uint8_t> marked(body_.num_values(), 0);
    marked[index(result)] = 1;
    const std::vector<LaterRead> reads = regions_.reads_behind(i, std::move(marked));
    std::vector<const LaterRead*> all;
    for (const LaterRead& r : reads) all.push_back(&r);
    return are_moved(all, written, body_.type(result));
  }

  Decision decide(std::uint32_t i, const CustomCall& c, std::size_t k, std::span<const Strided> written,
                  ValueId result) {
    const ValueId root = regions_.root(c.bases[k]);
    const TypeId type = body_.type(c.bases[k]);
    if (body_.full) return {Missed::How::Base, "is of a function that writes itself", t_.types.bytes(type)};
    Decision d{Missed::How::Base, foreign(c, k), t_.types.bytes(type)};
    std::int64_t part = 0;
    for (const Strided& w : written) part += functional::elements(w) * size_of(t_.types.dtype(type));
    const bool ours = d.why.empty();
    const std::vector<LaterRead> reads = ours ? old_reads(i, root) : std::vector<LaterRead>();
    const std::vector<const LaterRead*> way = in_the_way(reads, written);
    if (ours && way.empty()) return {std::nullopt, {}, 0};
    if (ours) d.why = read_text(way.front()->by);
    if (part < d.bytes && fresh_does(i, c, k, written, result)) return {Missed::How::Fresh, d.why, part};
    // A whole input is saved too where a clone of it would have to be copied back.
    const bool worth = part < d.bytes || (part == d.bytes && gets_new_value(root));
    if (ours && worth && are_moved(way, written, type)) return {Missed::How::Saved, d.why, part};
    return d;
  }

  std::string name_of(ValueId v) const {
    const std::string name = t_.debugs.value_name(f_.debug, v, t_.strings);
    return '%' + (name.empty() ? std::to_string(index(v)) : name);
  }

  // An argument as a view of `base`, a value of the new body.
  ValueId rebuilt(const CustomArgument& a, ValueId base, TypeId type) {
    for (const View& link : links_of(t_, a.view, type))
      if (!b_.failed()) base = b_.emit(link.op, std::span(&base, 1), link.attrs);
    return base;
  }

  // Base number k, and each argument that lies in it, by the decision; gives what the arguments are.
  void put(std::uint32_t i, const CustomCall& c, std::size_t k, const Decision& d, ValueId result,
           std::vector<ValueId>& operands) {
    const TypeId type = body_.type(c.bases[k]);
    const ValueId old = rw_(c.bases[k]), root = regions_.root(c.bases[k]);
    const bool fresh = d.how == Missed::How::Fresh, saved = d.how == Missed::How::Saved;
    const ValueId base = d.how == Missed::How::Base ? b_.emit(Op::clone, {old}) : old;
    for (std::size_t n = 0; n < c.args.size(); ++n) {
      const CustomArgument& a = c.args[n];
      if (a.base != k) continue;
      operands[n] = rebuilt(a, base, type);
      if (!a.mut || (!fresh && !saved)) continue;
      const ValueId copy = b_.emit(Op::clone, {operands[n]});
      copies_.add({i, root, fresh ? result : kNoValue, place_of(t_, a.view, type), copy});
      if (fresh) operands[n] = copy;
    }
    rw_.map(result, base);
    if (!d.how || saved) regions_.set(result, root);
  }

  void custom(std::uint32_t i, const Instr& in) {
    rw_.begin(static_cast<InstrId>(i));
    for (ValueId v : in.operands) find_moved(v);
    const Result<CustomCall> call = read_custom(t_, in);
    if (!call) return void(fail(call.error()));
    const CustomCall& c = *call;
    ReinplaceEntry entry{std::string(name(in.op)),
                         std::string(t_.attrs.get_str(in.attrs, Key::op)),
                         t_.debugs.find_loc(f_.debug, static_cast<InstrId>(i)).line,
                         {},
                         {},
                         {}};
    std::vector<ValueId> operands;
    for (const CustomArgument& a : c.args) operands.push_back(a.base ? kNoValue : rw_(a.value));
    for (std::size_t k = 0; k < c.bases.size() && !b_.failed(); ++k) {
      const auto number = static_cast<std::uint32_t>(k);
      const ValueId result = in.result(static_cast<std::uint32_t>(c.results + k));
      std::vector<Strided> written;
      for (const CustomArgument& a : c.args)
        if (a.base == k && a.mut) written.push_back(place_of(t_, a.view, body_.type(c.bases[k])));
      const Decision d = decide(i, c, k, written, result);
      entry.tried.push_back(number);
      if (!d.how || d.how == Missed::How::Saved) entry.done.push_back(number);
      if (d.how) entry.missed.push_back({number, name_of(c.bases[k]), d.why, d.bytes, *d.how});
      put(i, c, k, d, result, operands);
    }
    if (log_) log_->push_back(entry);
    if (t_.attrs.get_bool(in.attrs, Key::inplace) && !entry.missed.empty()) return refuse(entry);
    const AttrId attrs =
        t_.attrs.dict({{Key::op, t_.attrs.get(in.attrs, Key::op)}, {Key::args, t_.attrs.get(in.attrs, Key::args)}});
    const std::vector<ValueId> results = b_.emit_all(Op::extern_, operands, attrs);
    for (std::size_t k = 0; k < results.size(); ++k) rw_.map(in.result(static_cast<std::uint32_t>(k)), results[k]);
  }

  void refuse(const ReinplaceEntry& entry) {
    const Missed& m = entry.missed[0];
    b_.fail(Code::Type, "[" + entry.custom + "] {inplace=true}: " + m.value + " " +
                            (m.why.starts_with("read") ? "is " : "") + m.why + ", so " + std::to_string(m.bytes) +
                            " bytes would be copied");
  }

  // New values of inputs; a copy onto itself goes. What lies in another such input is copied before that is written.
  void write_back(std::span<const ValueId> news) {
    std::vector<ValueId> values;
    for (std::size_t j = 0; j < news.size() && !b_.failed(); ++j) {
      const ValueId root = regions_.root(news[j]);
      find_moved(news[j]);
      if (copies_.is_moved(news[j])) {
        values.push_back(rw_(news[j]));
        continue;
      }
      const bool other = index(root) != into_[j] && std::ranges::find(into_, index(root)) != into_.end();
      const bool same =
          index(root) == into_[j] && regions_.place(news[j]) == row_major(t_.types.dims(body_.type(root)));
      const bool moved = other || (index(root) == into_[j] && !same);
      values.push_back(same ? kNoValue : moved ? b_.emit(Op::clone, {rw_(news[j])}) : rw_(news[j]));
    }
    for (std::size_t j = 0; j < values.size() && !b_.failed(); ++j)
      if (values[j] != kNoValue) b_.emit(Op::copy_, {inputs_[j], values[j]});
  }

  Tables& t_;
  FunctionId f_;
  const Body& body_;
  std::span<const std::uint32_t> into_;
  OwnParams own_;
  ReinplaceLog* log_;
  Builder b_;
  Rewriter rw_;
  Regions regions_;
  std::vector<InstrId> defs_;
  Copies copies_;
  std::vector<ValueId> inputs_;  // of the new body, as `into_`
};

}  // namespace

Result<FunctionId> reinplace(Tables& t, FunctionId f, std::span<const std::uint32_t> into, ReinplaceLog* log) {
  return Reinplace(t, f, into, {}, log).run();
}

bool has_functional_custom(const Tables& t, FunctionId f) {
  std::unordered_map<BodyId, bool> known;
  return has_custom(t, f, known);
}

}  // namespace tfvm
