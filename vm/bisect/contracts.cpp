#include "vm/bisect/contracts.h"

#include <algorithm>

#include "bytecode/consts.h"
#include "transforms/functions.h"
#include "transforms/jvp/jvp.h"
#include "transforms/simplify/contract.h"
#include "transforms/simplify/dead_outputs.h"
#include "transforms/simplify/licm.h"
#include "transforms/simplify/size.h"
#include "transforms/split/split.h"
#include "transforms/transpose/transpose.h"
#include "transforms/vmap/vmap.h"
#include "vm/bisect/numbers.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 22;  // of a batch
constexpr std::int64_t kMostInstructions = 20000;              // of a function

Mask mask_at(std::span<const std::int64_t> key, std::size_t at) {
  Mask m;
  for (std::int64_t k = 0; k < key[at]; ++k) m.push_back(key[at + 1 + static_cast<std::size_t>(k)] != 0);
  return m;
}

// As the passes spell out their parameters in the memo.
std::optional<PassCall> call_of(std::string_view pass, FunctionId f, std::span<const std::int64_t> key) {
  PassCall c{std::string(pass), f, {}, 0};
  if (pass == "vmap") {
    if (key[3] != 0) return std::nullopt;  // a chunk: its lanes count from elsewhere
    c.flags = mask_at(key, 4), c.number = key[0];
  } else if (pass == "jvp" || pass == "split") {
    c.flags = mask_at(key, 0), c.number = key.back();
  } else if (pass == "transpose") {
    c.flags = mask_at(key, 0);
  } else if (!key.empty() || (pass != "licm" && pass != "dead_outputs" && pass != "contract")) {
    return std::nullopt;
  }
  return c;
}

// Which results depend on flagged parameters.
Mask dependent(const Body& body, const Mask& flags) {
  Mask on(body.num_values(), 0);
  std::ranges::copy(flags, on.begin());
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    const bool any = std::ranges::any_of(in.operands, [&](ValueId v) { return on[index(v)]; });
    for (std::uint32_t k = 0; k < in.num_results; ++k) on[index(in.result(k))] = any;
  }
  Mask out;
  for (ValueId v : body.results) out.push_back(on[index(v)]);
  return out;
}

std::vector<Tensor> chosen(std::span<const Tensor> all, const Mask& flags, bool wanted) {
  std::vector<Tensor> out;
  for (std::uint32_t k : positions(flags, wanted)) out.push_back(all[k]);
  return out;
}

void append(std::vector<Tensor>& to, std::vector<Tensor> more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

std::vector<PassCall> passes_of(const TransformEnv& env) {
  std::vector<std::pair<std::int64_t, PassCall>> sized;
  env.memo.for_each([&](std::string_view pass, FunctionId f, std::span<const std::int64_t> key, const PassResult&) {
    std::optional<PassCall> c = call_of(pass, f, key);
    if (c && !numbers::runs_alone(env.tables, f)) return;
    const std::int64_t size = c ? code_size(env.tables, f).instructions : 0;
    if (c && size <= kMostInstructions) sized.emplace_back(size, *std::move(c));
  });
  std::ranges::stable_sort(sized, {}, [](const auto& s) { return s.first; });
  std::vector<PassCall> out;
  for (auto& [size, call] : sized) out.push_back(std::move(call));
  return out;
}

bool Contracts::are_tensors(FunctionId f) const {
  const Body& body = env_.tables.body(f);
  const auto is_tensor = [&](TypeId t) { return env_.tables.types[t].is_tensor(); };
  return std::ranges::all_of(body.param_types(), is_tensor) && std::ranges::all_of(body.result_types(), is_tensor);
}

std::optional<std::vector<Tensor>> Contracts::run(FunctionId f, const Values& x) const {
  if (!are_tensors(f) || !numbers::runs_alone(env_.tables, f)) return std::nullopt;
  Result<Values> out = run_(f, x);
  if (!out) return std::nullopt;
  return *std::move(out);
}

std::optional<std::vector<Tensor>> Contracts::example(FunctionId f, int which) const {
  if (!are_tensors(f)) return std::nullopt;
  Values out;
  for (TypeId id : env_.tables.body(f).param_types()) {
    const Type& t = env_.tables.types[id];
    if (env_.tables.types.elements(id) > kMostElements) return std::nullopt;
    auto x = numbers::fill(t.dtype, t.dims, static_cast<std::uint64_t>(out.size()) * 2 + 1, which);
    if (!x) return std::nullopt;
    out.push_back(*std::move(x));
  }
  return out;
}

std::optional<BrokenContract> Contracts::broken(const PassCall& call, std::span<const Tensor> inputs) {
  const Values x(inputs.begin(), inputs.end());
  const std::optional<Values> y = run(call.f, x);
  if (!y) return std::nullopt;
  if (call.pass == "vmap") return vmap(call, x, *y);
  if (call.pass == "jvp") return jvp(call, x, *y);
  if (call.pass == "split") return split(call, x, *y);
  if (call.pass == "transpose") return transpose(call, x, *y);
  return same(call, x, *y);
}

std::optional<BrokenContract> Contracts::same(const PassCall& call, const Values& x, const Values& y) {
  const auto pass = call.pass == "licm" ? licm : call.pass == "contract" ? contract : without_dead_outputs;
  const Result<FunctionId> made = pass(env_, call.f);
  const auto got = made ? run(planted(call.pass, *made), x) : std::nullopt;
  return got ? numbers::difference(y, *got) : std::nullopt;
}

std::optional<BrokenContract> Contracts::vmap(const PassCall& call, const Values& x, const Values&) {
  if (numbers::has_op(env_.tables, call.f, {OpKind::Random, OpKind::Collective})) return std::nullopt;
  const std::int64_t n = std::min<std::int64_t>(call.number, 5);
  const Result<Batched> made = batch(env_, call.f, call.flags, Axis{n});
  if (!made || n < 1) return std::nullopt;
  std::vector<Values> lanes(static_cast<std::size_t>(n), x);
  Values all = x;
  for (std::uint32_t k : positions(call.flags)) {
    if (x[k].elements() * n > kMostElements) return std::nullopt;
    Values of_lanes;
    for (std::int64_t l = 0; l < n; ++l) {
      const auto lane = numbers::scaled(x[k], 1 + 0.0625 * static_cast<double>(l));
      if (!lane) return std::nullopt;
      of_lanes.push_back(lanes[static_cast<std::size_t>(l)][k] = *lane);
    }
    const auto stacked = numbers::stack(of_lanes);
    if (!stacked) return std::nullopt;
    all[k] = *stacked;
  }
  const auto got = run(planted("vmap", made->f), all);
  if (!got || got->size() != made->out.size()) return std::nullopt;
  for (std::int64_t l = 0; l < n; ++l) {
    const auto want = run(call.f, lanes[static_cast<std::size_t>(l)]);
    if (!want) return std::nullopt;
    Values lane;
    for (std::size_t k = 0; k < got->size(); ++k)
      lane.push_back(made->out[k] ? numbers::lane((*got)[k], l) : (*got)[k]);
    if (auto d = numbers::difference(*want, lane)) return d;
  }
  return std::nullopt;
}

std::optional<BrokenContract> Contracts::jvp(const PassCall& call, const Values& x, const Values& y) {
  const Tables& t = env_.tables;
  const double epsilon = numbers::epsilon(t, call.f);
  if (epsilon == 0 || numbers::has_own_derivative(t, call.f)) return std::nullopt;
  const Mask can = differentiable(t, t.body(call.f).param_types());
  Mask active = call.flags;
  for (std::size_t k = 0; k < active.size(); ++k) active[k] = active[k] && can[k];
  if (!any(active)) return std::nullopt;
  const Result<Jvp> made = tfvm::jvp(env_, call.f, active, {}, static_cast<JvpMode>(call.number));
  if (!made) return std::nullopt;
  Values tangents(x.size()), in = x;
  for (std::uint32_t k : positions(active)) {
    const auto dx = numbers::direction(x[k], k);
    if (!dx) return std::nullopt;
    in.push_back(tangents[k] = *dx);
  }
  const auto got = run(planted("jvp", made->f), in);
  if (!got) return std::nullopt;
  if (auto d = numbers::difference(y, std::span(*got).first(y.size()))) return d;
  const double h = std::cbrt(epsilon);
  Values at[4];
  for (std::size_t p = 0; p < 4; ++p) {
    constexpr double kSteps[] = {1, -1, 0.25, -0.25};
    const auto moved = run(call.f, numbers::moved(x, tangents, h * kSteps[p]));
    if (!moved) return std::nullopt;
    at[p] = *moved;
  }
  const std::vector<std::uint32_t> with = positions(made->out);
  for (std::size_t k = 0; k < y.size(); ++k) {
    const auto found = std::ranges::find(with, static_cast<std::uint32_t>(k));
    const auto place = y.size() + static_cast<std::size_t>(found - with.begin());
    const Tensor dy = found == with.end() ? Tensor() : (*got)[place];
    const Tensor* points[] = {&at[0][k], &at[1][k], &at[2][k], &at[3][k]};
    if (auto d = numbers::slope_differs(y[k], points, dy, h, epsilon)) {
      d->result = k;
      return d;
    }
  }
  return std::nullopt;
}

std::optional<BrokenContract> Contracts::split(const PassCall& call, const Values& x, const Values& y) {
  const Result<Split> made = tfvm::split(env_, call.f, call.flags, {}, {}, static_cast<SplitUse>(call.number));
  if (!made || !any(call.flags)) return std::nullopt;
  const Values known = chosen(x, call.flags, false);
  const auto first = run(planted("split", made->known), known);
  if (!first) return std::nullopt;
  const std::size_t results = count(made->unknown), kept = y.size() - results;
  Values in;
  for (std::size_t made_at = kept; std::int64_t r : made->residuals) {
    if (r < 0 && made_at >= first->size()) return std::nullopt;
    in.push_back(r < 0 ? (*first)[made_at++] : known[static_cast<std::size_t>(r)]);
  }
  append(in, chosen(x, call.flags, true));
  const auto second = run(planted("split", made->linear), in);
  if (!second) return std::nullopt;
  Values got;
  for (std::size_t k = 0, a = 0, b = 0; k < y.size(); ++k)
    got.push_back(made->unknown[k] ? (*second)[b++] : (*first)[a++]);
  return numbers::difference(y, got);
}

std::optional<BrokenContract> Contracts::transpose(const PassCall& call, const Values& x, const Values& y) {
  const Tables& t = env_.tables;
  if (numbers::has_own_derivative(t, call.f)) return std::nullopt;
  const Body& body = t.body(call.f);
  const Mask can = differentiable(t, body.result_types()), on = dependent(body, call.flags);
  Mask cts;
  for (std::size_t k = 0; k < on.size(); ++k) cts.push_back(on[k] && can[k]);
  if (!any(cts)) return std::nullopt;
  const Result<Transposed> made = tfvm::transpose(env_, call.f, call.flags, cts);
  if (!made) return std::nullopt;
  Values in = chosen(x, call.flags, false), still = x;
  for (std::uint32_t k : positions(call.flags)) {
    const auto zero = numbers::scaled(x[k], 0);
    if (!zero) return std::nullopt;
    still[k] = *zero;
  }
  const auto rest = run(call.f, still);  // what it adds of its other parameters
  if (!rest) return std::nullopt;
  numbers::Product forward, back;
  for (std::uint32_t k : positions(cts)) {
    const auto ct = numbers::direction(y[k], k + 100);
    if (!ct || !forward.add(*ct, y[k]) || !forward.add(*ct, (*rest)[k], -1)) return std::nullopt;
    in.push_back(*ct);
  }
  const auto got = run(planted("transpose", made->f), in);
  if (!got) return std::nullopt;
  const Values tangents = chosen(x, call.flags, true);
  for (std::size_t at = 0; std::uint32_t k : positions(made->in))
    if (!back.add((*got)[at++], tangents[k])) return std::nullopt;
  return numbers::difference(forward, back, numbers::epsilon(t, call.f));
}

}  // namespace tfvm
