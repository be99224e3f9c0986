#include "transforms/reverse.h"

#include "transforms/jvp/jvp.h"
#include "transforms/simplify/licm.h"

namespace tfvm {

Result<Linearized> linearize(TransformEnv& env, FunctionId f, const Mask& active) {
  // What leaves a loop now is transposed once, not in each trip.
  const Result<FunctionId> lean = licm(env, f);
  if (!lean) return lean.error();
  Result<Jvp> j = jvp(env, *lean, active, {}, JvpMode::Linearize);
  if (!j) return j.error();
  Linearized l{j->f, {}, active.size(), j->out.size(), active, j->out};
  Mask unknown(active.size(), 0), force(j->out.size(), 0);
  unknown.resize(active.size() + count(active), 1);
  force.resize(j->out.size() + count(j->out), 1);
  Result<Split> s = split(env, j->f, unknown, force);
  if (!s) return s.error();
  l.split = std::move(*s);
  return l;
}

Reverse::Reverse(TransformEnv& env, const Linearized& l, std::string_view pass)
    : env_(env), l_(l), b_(env.tables, env.options, l.jvp, pass) {}

void Reverse::make_params() {
  const Body& body = env_.tables.bodies[l_.split.known.body];
  const Body& jvp_body = env_.tables.bodies[l_.jvp.body];
  for (std::uint32_t k = 0; k < l_.params; ++k) {
    params_.push_back(b_.param(body.types[k]));
    b_.name_from(params_[k], jvp_body.param(k));
  }
}

void Reverse::known_part() {
  const std::vector<ValueId> all = inline_kin(b_, l_.split.known, params_, Kin::Sibling);
  outputs_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(l_.results));
  std::size_t made = l_.results;
  for (std::int64_t r : l_.split.residuals)
    residuals_.push_back(r >= 0 ? params_[static_cast<std::size_t>(r)] : all[made++]);
}

Mask Reverse::linear_params() const {
  Mask m(l_.split.residuals.size(), 0);
  m.resize(m.size() + count(l_.active), 1);
  return m;
}

std::vector<ValueId> Reverse::backward(std::span<const ValueId> cts) {
  std::vector<ValueId> active_cts, out(l_.params, kNoValue);
  for (std::size_t k = 0; k < l_.out.size(); ++k)
    if (l_.out[k]) active_cts.push_back(cts[k]);
  const std::vector<ValueId> found =
      transpose_into(env_, b_, l_.split.linear, linear_params(), residuals_, active_cts, Kin::Sibling);
  for (std::size_t k = 0, n = 0; k < l_.params; ++k)
    if (l_.active[k]) out[k] = found[n++];
  return out;
}

Result<FunctionId> Reverse::backward_function(std::size_t k) {
  Mask cts(count(l_.out), 0);
  cts[count(slice(l_.out, 0, k))] = 1;
  const Result<Transposed> t = transpose(env_, l_.split.linear, linear_params(), cts, Mask(count(l_.active), 1));
  if (!t) return t.error();
  return t->f;
}

}  // namespace tfvm
