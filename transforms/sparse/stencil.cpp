#include "transforms/sparse/stencil.h"

#include <algorithm>
#include <optional>

#include "bytecode/own_rules.h"
#include "transforms/jvp/rules.h"
#include "transforms/sparse/places.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

constexpr std::uint32_t kMostInstrs = 4000;  // of the code looked at, callees each time that they are called

struct Tangent {
  std::size_t input;
  List offset;
  ValueId value;
  auto key() const { return std::tie(input, offset); }
};
using Tangents = std::vector<Tangent>;  // ascending by key

ValueId find(const Tangents& list, const Tangent& like) {
  const auto at = std::ranges::find_if(list, [&](const Tangent& t) { return t.key() == like.key(); });
  return at == list.end() ? kNoValue : at->value;
}

// The keys of all tangents of several values; their values don't matter.
Tangents keys(std::span<const Tangents* const> lists) {
  Tangents all;
  for (const Tangents* list : lists) all.insert(all.end(), list->begin(), list->end());
  std::ranges::sort(all, [](const Tangent& a, const Tangent& b) { return a.key() < b.key(); });
  const auto same = std::ranges::unique(all, [](const Tangent& a, const Tangent& b) { return a.key() == b.key(); });
  all.erase(same.begin(), same.end());
  return all;
}

bool are_all(Ints list, std::int64_t v) {
  return std::ranges::all_of(list, [&](std::int64_t i) { return i == v; });
}

class Walk {
 public:
  Walk(TransformEnv& env, Builder& b, std::size_t most) : env_(env), b_(b), most_(most) {}

  struct Frame {
    const Body& body;
    bool is_root;
    std::vector<ValueId> primal = std::vector<ValueId>(body.num_values(), kNoValue);
    std::vector<Tangents> tangents = std::vector<Tangents>(body.num_values());
    Mask is_lost = Mask(body.num_values(), 0);  // has a derivative, but no diagonals: may only be compared
  };

  // The parameters are set. false: no stencil, or an error of the builder.
  bool run(Frame& f) {
    seen_ += f.body.num_instrs();
    if (f.body.full || seen_ > kMostInstrs) return false;
    for (std::uint32_t i = 0; i < f.body.num_instrs(); ++i) {
      if (f.is_root) b_.set_origin(static_cast<InstrId>(i));
      if (!instr(f, f.body.instr(i)) || b_.failed()) return false;
    }
    return true;
  }

 private:
  bool instr(Frame& f, const Instr& in) {
    if (in.op == Op::constant) {
      f.primal[index(in.first_result)] = b_.copy(f.body, in, {});
      return true;
    }
    x_.clear(), y_.clear(), of_.clear();
    for (ValueId v : in.operands) {
      x_.push_back(f.primal[index(v)]);
      of_.push_back(&f.tangents[index(v)]);
    }
    const bool is_lost = std::ranges::any_of(in.operands, [&](ValueId v) { return f.is_lost[index(v)] != 0; });
    const bool is_active = is_lost || std::ranges::any_of(of_, [](const Tangents* t) { return !t->empty(); });
    if (is_active && in.op == Op::call) return !is_lost && call(f, in);
    const ValueId first = b_.copy(f.body, in, x_);
    for (std::uint32_t k = 0; first != kNoValue && k < in.num_results; ++k) {
      y_.push_back(static_cast<ValueId>(index(first) + k));
      f.primal[index(in.result(k))] = y_[k];
      if (f.is_root) b_.name_from(y_[k], in.result(k));
    }
    const JvpEntry entry = jvp_entry(in.op);
    if (!is_active || entry.kind == JvpKind::Zero) return true;
    if (in.num_results != 1 || b_.failed()) return false;
    if (!b_.tables().types.is_differentiable(b_.type(y_[0]))) return true;
    if (is_lost || !is_float(b_.dtype(y_[0]))) return false;
    Tangents& out = f.tangents[index(in.result())];
    if (!(is_pointwise(in.op) ? pointwise(in, entry, out) : moved(in, out)) || out.size() > most_) {
      out.clear();
      f.is_lost[index(in.result())] = 1;
    }
    return true;
  }

  static bool is_pointwise(Op op) {
    return is_elementwise(info(op).kind) || op == Op::name || op == Op::clone || op == Op::print_;
  }

  bool pointwise(const Instr& in, const JvpEntry& entry, Tangents& out) {
    for (Tangent& key : keys(of_)) {
      t_.clear();
      for (const Tangents* list : of_) t_.push_back(find(*list, key));
      dy_.assign(1, kNoValue);
      JvpCtx c{env_, b_, JvpMode::Forward, in, x_, t_, y_, dy_, text_};
      if (!jvp_apply(c, entry)) return false;
      add(out, std::move(key), dy_[0]);
    }
    return true;
  }

  void add(Tangents& out, Tangent like, ValueId value) {
    if (b_.failed() || value == kNoValue || is_zero(b_, value)) return;
    like.value = value;
    out.push_back(std::move(like));
  }

  // An element of the result is one of an operand, at another place.
  bool moved(const Instr& in, Tangents& out) {
    const AttrTable& at = b_.tables().attrs;
    if (in.op == Op::concat) return joined(in, out);
    const bool is_slice = in.op == Op::slice;
    if (!is_slice && (in.op != Op::pad || !of_[1]->empty())) return false;
    if (!are_all(at.get_ints(in.attrs, is_slice ? Key::stride : Key::interior), is_slice ? 1 : 0)) return false;
    const Ints by = at.get_ints(in.attrs, is_slice ? Key::start : Key::low);
    for (Tangent t : *of_[0]) {
      for (std::size_t d = 0; d < by.size(); ++d) t.offset[d] += is_slice ? by[d] : -by[d];
      const ValueId v = is_slice ? b_.emit(Op::slice, std::span(&t.value, 1), in.attrs)
                                 : b_.emit(Op::pad, std::vector{t.value, b_.scalar(b_.dtype(t.value), 0)}, in.attrs);
      add(out, std::move(t), v);
    }
    return true;
  }

  bool joined(const Instr& in, Tangents& out) {
    const auto axis = static_cast<std::size_t>(b_.tables().attrs.get_int(in.attrs, Key::axis));
    std::vector<Tangents> pieces;
    std::int64_t from = 0;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      for (Tangent& t : pieces.emplace_back(*of_[k])) t.offset[axis] -= from;
      from += b_.dims(x_[k])[axis];
    }
    std::vector<const Tangents*> lists;
    for (const Tangents& p : pieces) lists.push_back(&p);
    for (Tangent& key : keys(lists)) {
      t_.clear();
      for (std::size_t k = 0; k < x_.size(); ++k) {
        const ValueId v = find(pieces[k], key);
        t_.push_back(v == kNoValue ? b_.zeros(b_.type(x_[k])) : v);
      }
      add(out, std::move(key), b_.emit(Op::concat, t_, in.attrs));
    }
    return true;
  }

  bool call(Frame& f, const Instr& in) {
    const AttrTable& at = b_.tables().attrs;
    if (at.has(in.attrs, Key::policy) || has_own_rule(at, in.attrs)) return false;
    const FunctionId callee = at.get_func(in.attrs, Key::callee);
    Frame g{b_.tables().bodies[callee.body], false};
    for (std::size_t k = 0; k < x_.size(); ++k) {
      g.primal[k] = x_[k];
      g.tangents[k] = *of_[k];
    }
    if (!run(g)) return false;
    for (std::uint32_t k = 0; k < in.num_results; ++k) {
      f.primal[index(in.result(k))] = g.primal[index(g.body.results[k])];
      f.tangents[index(in.result(k))] = g.tangents[index(g.body.results[k])];
      f.is_lost[index(in.result(k))] = g.is_lost[index(g.body.results[k])];
    }
    return true;
  }

  TransformEnv& env_;
  Builder& b_;
  const std::size_t most_;
  std::uint32_t seen_ = 0;
  // Of the instruction at hand.
  std::vector<ValueId> x_, y_, t_, dy_;
  std::vector<const Tangents*> of_;
  std::map<std::pair<std::uint32_t, TypeId>, FunctionId> text_;
};

}  // namespace

std::optional<Stencil> stencil(TransformEnv& env, FunctionId f, const Mask& active, std::size_t most) {
  Builder b(env.tables, env.options, f, "stencil");
  Walk walk(env, b, most);
  Walk::Frame root{env.tables.bodies[f.body], true};
  std::int64_t rank = -1;
  for (std::uint32_t k = 0; k < root.body.num_params; ++k) {
    root.primal[k] = b.param(root.body.types[k]);
    b.name_from(root.primal[k], root.body.param(k));
  }
  for (std::uint32_t k = 0; k < root.body.num_params; ++k) {
    const ValueId x = root.primal[k];
    if (!active[k]) continue;
    if (!is_float(b.dtype(x)) || (rank >= 0 && rank != b.rank(x))) return std::nullopt;
    rank = b.rank(x);
    root.tangents[k].push_back({k, List(static_cast<std::size_t>(rank), 0), b.splat_like(x, 1)});
  }
  if (!walk.run(root)) return std::nullopt;
  Stencil s;
  std::vector<ValueId> results;
  for (ValueId v : root.body.results) {
    if (root.is_lost[index(v)]) return std::nullopt;
    results.push_back(root.primal[index(v)]);
  }
  for (std::size_t k = 0; k < root.body.results.size(); ++k) {
    for (Tangent& t : root.tangents[index(root.body.results[k])]) {
      results.push_back(t.value);
      s.diagonals.push_back({k, t.input, std::move(t.offset)});
    }
  }
  const Result<FunctionId> made = b.seal(results);
  if (!made) return std::nullopt;
  s.f = *made;
  return s;
}

std::vector<ValueId> append(Builder& b, Stencil& s, std::span<const ValueId> args) {
  std::vector<ValueId> results = inline_kin(b, s.f, args, Kin::Sibling);
  const std::size_t count = results.size() - s.diagonals.size();
  for (std::size_t k = 0; k < s.diagonals.size(); ++k) s.diagonals[k].value = results[count + k];
  results.resize(count);
  return results;
}

ValueId end_to_end(Builder& b, std::span<const Diagonal> diagonals) {
  std::vector<ValueId> flat;
  for (const Diagonal& d : diagonals) {
    const std::int64_t n[] = {b.tables().types.elements(b.type(d.value))};
    flat.push_back(b.emit(Op::reshape, {d.value}, {{Key::shape, Ints(n)}}));
    if (b.failed()) return kNoValue;
  }
  return flat.size() == 1 ? flat[0] : b.emit(Op::concat, flat, b.tables().attrs.dict({{Key::axis, 0}}));
}

std::vector<std::int64_t> places_in_matrix(const Diagonal& d, Dims result, Dims input, std::int64_t outside) {
  const std::vector<std::size_t> rows = row_major_strides(result), columns = row_major_strides(input);
  const auto width = static_cast<std::int64_t>(element_count(input));
  List places, at(result.size(), 0);
  for (std::size_t n = element_count(result); n > 0; --n) {
    std::int64_t row = 0, column = 0;
    bool is_inside = true;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const std::int64_t j = at[k] + d.offset[k];
      is_inside = is_inside && j >= 0 && j < input[k];
      row += at[k] * static_cast<std::int64_t>(rows[k]);
      column += j * static_cast<std::int64_t>(columns[k]);
    }
    places.push_back(is_inside ? row * width + column : outside);
    for (std::size_t k = at.size(); k-- > 0 && ++at[k] == result[k];) at[k] = 0;
  }
  return places;
}

}  // namespace tfvm
