#include "vm/bisect/bisect.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include "bytecode/callees.h"
#include "functionalize/functionalize.h"
#include "transforms/simplify/size.h"
#include "vm/plan/walk.h"
#include "vm/print.h"
#include "vm/trap/bits.h"

namespace tfvm {

namespace {

bool both_nan(const Tensor& a, std::int64_t byte, const Tensor& b) {
  bool both = false;
  with_nan_format(a.dtype(), [&](auto format, int) {
    using F = decltype(format);
    const std::int64_t at = byte / static_cast<std::int64_t>(sizeof(typename F::Bits)) *
                            static_cast<std::int64_t>(sizeof(typename F::Bits));
    both =
        F::is_nan(load_bits<typename F::Bits>(a.data() + at)) && F::is_nan(load_bits<typename F::Bits>(b.data() + at));
  });
  return both;
}

struct Difference {
  std::size_t result;
  std::int64_t element;
};

std::optional<Difference> difference(std::span<const Tensor> want, std::span<const Tensor> got) {
  for (std::size_t k = 0; k < want.size() && k < got.size(); ++k)
    if (const auto element = first_difference(want[k], got[k])) return Difference{k, *element};
  return std::nullopt;
}

std::string element_text(const Tensor& t, std::int64_t element) {
  const Tensor one = Tensor::over(t.data() + element * size_of(t.dtype()), t.dtype(), row_major(Dims{}), t.storage());
  return print(one);
}

constexpr std::int64_t kMaxSteps = 1 << 20;  // of a run that only looks

class Bisector {
 public:
  Bisector(TransformEnv& env, StagePlants plants) : runner_(env, std::move(plants)) {}

  Result<Bisection> run(FunctionId f, std::span<const Tensor> inputs) {
    const Result<StageRun> truth = runner_.run(f, inputs, {Stage::Steps});
    if (!truth) return truth.error();
    Bisection found;
    if (find_transform(inputs, found)) return found;
    for (auto k = static_cast<int>(Stage::Functionalize); k <= static_cast<int>(kLastStage) && !found.differs; ++k) {
      found.stage = static_cast<Stage>(k);
      const Result<StageRun> now = runner_.run(f, inputs, {found.stage});
      if (!now) found.failure = now.error();
      const auto d = now ? difference(truth->results, now->results) : std::nullopt;
      found.differs = !now || d;
      if (!d) continue;
      found.result = d->result;
      found.element = d->element;
      found.want = element_text(truth->results[d->result], d->element);
      found.got = element_text(now->results[d->result], d->element);
      if (found.stage == Stage::Fuse) find_merge(f, inputs, truth->results, now->merges, found);
      if (found.stage == Stage::Native) find_native(f, inputs, truth->results, *now, found);
    }
    if (found.differs && !found.failure) reduce(f, inputs, found);
    return found;
  }

 private:
  bool differs(FunctionId f, std::span<const Tensor> inputs, const StageLimit& limit, std::span<const Tensor> want) {
    const Result<StageRun> run = runner_.run(f, inputs, limit);
    return run && difference(want, run->results);
  }

  // The least n in (0, count] with which it differs; of n = 0 it is known that it doesn't.
  template <class Limit>
  std::int64_t least(std::int64_t count, Limit limit, FunctionId f, std::span<const Tensor> inputs,
                     std::span<const Tensor> want) {
    std::int64_t good = 0, bad = count;
    while (bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (differs(f, inputs, limit(middle), want) ? bad : good) = middle;
    }
    return bad;
  }

  void find_merge(FunctionId f, std::span<const Tensor> inputs, std::span<const Tensor> want, std::int64_t merges,
                  Bisection& found) {
    const auto limit = [](std::int64_t n) { return StageLimit{Stage::Fuse, n}; };
    const std::int64_t n = least(merges, limit, f, inputs, want);
    found.number = n - 1;
    found.count = merges;
    const Result<StageRun> before = runner_.run(f, inputs, limit(n - 1)), after = runner_.run(f, inputs, limit(n));
    if (!before || !after) return;
    std::unordered_set<std::string> known;
    const auto each_nest = [](const Plan& plan, auto fn) {
      for_each_plan(plan, [&](const Plan& p) {
        for (std::size_t i = 0; i < p.steps.size(); ++i)
          if (p.steps[i].kind == StepKind::Nest) fn(text(*p.nests[p.steps[i].index].ir), p.origins[i]);
      });
    };
    each_nest(*before->plan, [&](const std::string& nest, StepOrigin) { known.insert(nest); });
    each_nest(*after->plan, [&](const std::string& nest, StepOrigin at) {
      if (!known.insert(nest).second) return;
      found.nest = nest;
      found.loc = runner_.tables().debugs.find_loc(at.debug, at.instr);
    });
  }

  void find_native(FunctionId f, std::span<const Tensor> inputs, std::span<const Tensor> want, const StageRun& all,
                   Bisection& found) {
    const auto limit = [](std::int64_t n) { return StageLimit{Stage::Native, LimitGate::kAll, n}; };
    found.count = all.natives;
    found.number = least(all.natives, limit, f, inputs, want) - 1;
    const StepOrigin at = all.native_places[static_cast<std::size_t>(found.number)];
    found.loc = runner_.tables().debugs.find_loc(at.debug, at.instr);
  }

  // What a pass makes of single instructions, with the values that they have, then of whole functions, of which small
  // ones come first; with the program's own inputs where they fit, and with others.
  bool find_transform(std::span<const Tensor> inputs, Bisection& found) {
    const auto by_steps = [&](FunctionId g, std::span<const Tensor> in) -> Result<std::vector<Tensor>> {
      Result<StageRun> run = runner_.run(g, in, {Stage::Steps});
      if (!run) return std::move(run).error();
      return std::move(run->results);
    };
    Contracts contracts(runner_.env(), by_steps, runner_.plants().on_pass);
    runner_.max_steps = kMaxSteps;
    const std::vector<PassCall> calls = passes_of(runner_.env());
    for (const bool whole : {false, true})
      for (const PassCall& call : calls)
        for (int which = -1; which < 2 && !found.differs; ++which) {
          auto x = which < 0 ? fitting(call.f, inputs) : contracts.example(call.f, which);
          if (!x) continue;
          const ReducedProgram p{call.f, *std::move(x), call.flags};
          whole ? try_function(contracts, call, p, by_steps, found) : try_alone(contracts, call, p, by_steps, found);
        }
    runner_.max_steps = std::numeric_limits<std::int64_t>::max();
    return found.differs;
  }

  using Values = std::function<Result<std::vector<Tensor>>(FunctionId f, std::span<const Tensor> inputs)>;

  void try_alone(Contracts& contracts, const PassCall& call, const ReducedProgram& p, const Values& by_steps,
                 Bisection& found) {
    for (ReducedProgram& one : instructions_of(runner_.env(), p, {{}, by_steps})) {
      std::string key = fmt::format("{} {} {} ", call.pass, call.number, index(one.f.body));
      key.append(one.flags.begin(), one.flags.end());
      if (!tried_.insert(std::move(key)).second) continue;
      const PassCall on_one{call.pass, one.f, one.flags, call.number};
      const auto broken = contracts.broken(on_one, one.inputs);
      if (!broken) continue;
      take(call, *broken, found);
      found.reduced = std::move(one);
      found.instructions = 1;
      return name_op(found.reduced.f, found);
    }
  }

  void try_function(Contracts& contracts, const PassCall& call, const ReducedProgram& p, const Values& by_steps,
                    Bisection& found) {
    const auto broken = contracts.broken(call, p.inputs);
    if (!broken) return;
    take(call, *broken, found);
    const auto shows = [&](const ReducedProgram& q) {
      return contracts.broken({call.pass, q.f, q.flags, call.number}, q.inputs).has_value();
    };
    found.reduced = reduce_program(runner_.env(), p, {shows, by_steps});
    found.instructions = code_size(runner_.tables(), found.reduced.f).instructions;
    name_op(found.reduced.f, found);
  }

  void take(const PassCall& call, const BrokenContract& broken, Bisection& found) {
    found = {.differs = true, .stage = Stage::Transforms, .result = broken.result, .element = broken.element};
    found.want = fmt::format("{}", broken.want), found.got = fmt::format("{}", broken.got);
    found.pass = call.pass;
    found.function = runner_.tables().debugs.function_name(call.f.debug, runner_.tables().strings);
  }

  // The inputs, where they are those of `f`: its first ones, or all.
  std::optional<std::vector<Tensor>> fitting(FunctionId f, std::span<const Tensor> inputs) {
    const Tables& t = runner_.tables();
    const auto params = t.body(f).param_types();
    if (params.size() > inputs.size()) return std::nullopt;
    for (std::size_t k = 0; k < params.size(); ++k) {
      const Type& type = t.types[params[k]];
      if (!type.is_tensor() || type.dtype != inputs[k].dtype() || !std::ranges::equal(type.dims, inputs[k].dims()))
        return std::nullopt;
    }
    return std::vector<Tensor>(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(params.size()));
  }

  // The last instruction that is left, within loops and calls.
  void name_op(FunctionId f, Bisection& found) {
    const Tables& t = runner_.tables();
    const Body& body = t.body(f);
    for (std::uint32_t i = body.num_instrs(); i-- > 0;) {
      if (body.ops[i] == Op::constant) continue;
      found.op = name(body.ops[i]);
      found.loc = t.debugs.find_loc(f.debug, static_cast<InstrId>(i));
      for (FunctionId g : callees(t, body.ops[i], body.attrs[i])) name_op(g, found);
      return;
    }
  }

  // Shown by a program: the stage before and this one give other bits.
  void reduce(FunctionId f, std::span<const Tensor> inputs, Bisection& found) {
    Tables& t = runner_.tables();
    ReducedProgram p{f, {inputs.begin(), inputs.end()}, {}};
    if (t.body(f).full) {
      if (found.stage == Stage::Functionalize) return;
      const Result<FunctionId> core = functionalize(t, f, {runner_.env().options, false});
      if (!core) return;
      p.f = *core;
    }
    runner_.max_steps = kMaxSteps;
    const Stage before = static_cast<Stage>(static_cast<int>(found.stage) - 1);
    const auto shows = [&](const ReducedProgram& q) {
      const Result<StageRun> good = runner_.run(q.f, q.inputs, {before}),
                             bad = runner_.run(q.f, q.inputs, {found.stage});
      return good && bad && difference(good->results, bad->results);
    };
    const auto values = [&](FunctionId g, std::span<const Tensor> in) -> Result<std::vector<Tensor>> {
      Result<StageRun> run = runner_.run(g, in, {Stage::Steps});
      if (!run) return std::move(run).error();
      return std::move(run->results);
    };
    if (!shows(p)) return;
    found.reduced = reduce_program(runner_.env(), std::move(p), {shows, values});
    found.instructions = code_size(t, found.reduced.f).instructions;
  }

  StageRunner runner_;
  std::unordered_set<std::string> tried_;  // passes on single instructions, by their bodies
};

}  // namespace

std::optional<std::int64_t> first_difference(const Tensor& a, const Tensor& b) {
  const std::int64_t size = size_of(a.dtype());
  for (std::int64_t byte = 0; byte < a.bytes(); ++byte)
    if (a.data()[byte] != b.data()[byte] && !both_nan(a, byte, b)) return byte / size;
  return std::nullopt;
}

Result<Bisection> bisect(TransformEnv& env, FunctionId f, std::span<const Tensor> inputs, StagePlants plants) {
  return Bisector(env, std::move(plants)).run(f, inputs);
}

}  // namespace tfvm
