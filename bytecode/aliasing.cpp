#include "bytecode/aliasing.h"

#include <algorithm>
#include <unordered_map>

#include "bytecode/callees.h"
#include "bytecode/externs.h"

namespace tfvm {

bool is_view(Op op) {
  switch (op) {
    case Op::transpose:
    case Op::slice:
    case Op::broadcast_to:
    case Op::real:
    case Op::imag:
      return true;
    default:
      return info(op).effect == OpEffect::Alias || is_metadata(op);
  }
}

bool is_metadata(Op op) {
  return op == Op::transpose_ || op == Op::squeeze_ || op == Op::unsqueeze_ || op == Op::as_strided_;
}

bool is_write(Op op) { return info(op).effect == OpEffect::Write && op != Op::extern_ && !is_metadata(op); }

bool needs_full(Op op) { return info(op).effect == OpEffect::Write || op == Op::as_strided; }

std::string_view written_op(std::string_view name) {
  return name.size() > 1 && name.ends_with('_') ? name.substr(0, name.size() - 1) : std::string_view();
}

std::optional<std::size_t> shared_operand(const Tables& t, const Instr& in, std::size_t callee, std::size_t param) {
  const auto count = [&](Key k) { return static_cast<std::size_t>(t.attrs.get_int(in.attrs, k)); };
  switch (in.op) {
    case Op::call:
      return param;
    case Op::cond:
    case Op::switch_:
      return param + 1;
    case Op::while_: {
      const std::size_t first = callee == 0 ? 0 : count(Key::cond_consts);
      const bool is_const = param < count(callee == 0 ? Key::cond_consts : Key::body_consts);
      return is_const ? std::optional(first + param) : std::nullopt;
    }
    case Op::scan:
      return param < count(Key::consts) ? std::optional(param) : std::nullopt;
    default:
      return std::nullopt;
  }
}

namespace {

void unite(Roots& into, const Roots& more) {
  for (std::uint32_t r : more)
    if (const auto at = std::ranges::lower_bound(into, r); at == into.end() || *at != r) into.insert(at, r);
}

// What a callee does, seen from its parameters.
struct Summary {
  std::vector<Roots> results;
  Roots globals;
  std::vector<std::uint8_t> addressed;  // per parameter
};

class Analysis {
 public:
  explicit Analysis(const Tables& t) : t_(t) {}

  Sharing body(const Body& body) {
    Sharing s;
    s.values.resize(body.num_values());
    s.first.assign(body.num_params, Sharing::kNoInstr);
    s.addressed.assign(body.num_params, 0);
    for (std::uint32_t k = 0; k < body.num_params; ++k) s.values[k] = {k};
    for (std::uint32_t i = 0; i < body.num_instrs(); ++i) instr(body.instr(i), i, s);
    return s;
  }

 private:
  const Summary& summary(FunctionId f) {
    if (const auto it = done_.find(f.body); it != done_.end()) return it->second;
    Summary out;
    const Body& body = t_.body(f);
    if (body.full) {
      Sharing s = this->body(body);
      for (ValueId v : body.results) out.results.push_back(s.values[index(v)]);
      out.globals = std::move(s.globals);
      out.addressed = std::move(s.addressed);
    } else {
      out.results.resize(body.results.size());
      out.addressed.assign(body.num_params, 0);
    }
    return done_.emplace(f.body, std::move(out)).first->second;
  }

  static void write(Sharing& s, const Roots& roots, std::uint32_t i) {
    for (std::uint32_t r : roots) {
      if (r & kGlobalRoot)
        unite(s.globals, {r & ~kGlobalRoot});
      else if (s.first[r] == Sharing::kNoInstr)
        s.first[r] = i;
    }
  }

  static void address(Sharing& s, const Roots& roots) {
    for (std::uint32_t r : roots)
      if (!(r & kGlobalRoot)) s.addressed[r] = 1;
  }

  void instr(const Instr& in, std::uint32_t i, Sharing& s) {
    if (in.op == Op::global) {
      const auto number = static_cast<std::uint32_t>(t_.attrs.get_int(in.attrs, Key::index));
      s.values[index(in.result())] = {number | kGlobalRoot};
    } else if (is_view(in.op) || is_write(in.op)) {
      s.values[index(in.result())] = s.values[index(in.operands[0])];
      if (is_write(in.op)) write(s, s.values[index(in.operands[0])], i);
      if (in.op == Op::as_strided || in.op == Op::as_strided_) address(s, s.values[index(in.operands[0])]);
    } else if (in.op == Op::extern_) {
      if (const Result<ExternArgs> args = extern_args(t_, in.attrs, in.operands.size()))
        for (std::size_t k = 0; k < in.operands.size(); ++k)
          if (args->mut[k]) write(s, s.values[index(in.operands[k])], i);
    } else {
      callees(in, i, s);
    }
  }

  void callees(const Instr& in, std::uint32_t i, Sharing& s) {
    const std::vector<FunctionId> functions = tfvm::callees(t_, in.op, in.attrs);
    for (std::size_t c = 0; c < functions.size(); ++c) {
      const Body& callee = t_.body(functions[c]);
      if (!callee.full) continue;
      const Summary& does = summary(functions[c]);
      unite(s.globals, does.globals);
      for (std::uint32_t p = 0; p < callee.mut_params.size(); ++p)
        if (const auto operand = shared_operand(t_, in, c, p); operand && callee.mut_params[p])
          write(s, s.values[index(in.operands[*operand])], i);
      for (std::uint32_t p = 0; p < does.addressed.size(); ++p)
        if (const auto operand = shared_operand(t_, in, c, p); operand && does.addressed[p])
          address(s, s.values[index(in.operands[*operand])]);
      if (in.op != Op::call) continue;
      for (std::uint32_t k = 0; k < in.num_results; ++k)
        for (std::uint32_t r : does.results[k])
          unite(s.values[index(in.result(k))], r & kGlobalRoot ? Roots{r} : s.values[index(in.operands[r])]);
    }
  }

  const Tables& t_;
  std::unordered_map<BodyId, Summary> done_;
};

}  // namespace

Sharing sharing(const Tables& t, const Body& body) { return Analysis(t).body(body); }

}  // namespace tfvm
