// vmap as the language has it: dims anywhere in arguments and results, moved to and from place 0.
#include <algorithm>

#include "bytecode/nested_types.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

std::string plural(std::size_t n, std::string_view what) {
  return std::to_string(n) + " " + (n == 1 || what != "entry" ? std::string(what) : "entrie") + (n == 1 ? "" : "s");
}

Error bad_dim(const Tables& t, std::string_view what, std::size_t k, std::int64_t dim, TypeId type) {
  return {Code::Type, "[vmap] " + std::string(what) + "[" + std::to_string(k) + "] = " + std::to_string(dim) +
                          " is out of range for " + t.types.text(type) + " (rank " +
                          std::to_string(t.types.rank(type)) + ")"};
}

// Moves dim `from` to place `to`.
ValueId move_dim(Builder& b, ValueId v, std::int64_t from, std::int64_t to) {
  if (b.failed() || from == to) return v;
  std::vector<std::int64_t> perm;
  for (std::int64_t d = 0; d < b.rank(v); ++d)
    if (d != from) perm.push_back(d);
  perm.insert(perm.begin() + to, from);
  return b.emit(Op::transpose, {v}, {{Key::perm, Ints(perm)}});
}

std::optional<std::int64_t> out_dim(const VmapParams& p, std::size_t k) {
  return p.out_dims.size() == 1 ? p.out_dims[0] : p.out_dims[k];
}

// Every batch dim is at place 0 already, outside as inside.
bool moves_nothing(const VmapParams& p, const Mask& out) {
  for (const auto& d : p.in_dims)
    if (d.value_or(0) != 0) return false;
  for (std::size_t k = 0; k < out.size(); ++k)
    if (out_dim(p, k) != (out[k] ? std::optional<std::int64_t>(0) : std::nullopt)) return false;
  return true;
}

}  // namespace

Result<std::vector<TypeId>> lane_types(TransformEnv& env, std::span<const TypeId> args, const VmapParams& params,
                                       std::int64_t& size) {
  Tables& t = env.tables;
  if (params.in_dims.size() != args.size())
    return Error{Code::Type, "[vmap] in_dims has " + plural(params.in_dims.size(), "entry") + " for " +
                                 plural(args.size(), "argument")};
  if (params.axis_size && *params.axis_size < 0)
    return Error{Code::Type, "[vmap] axis_size must be at least 0, got " + std::to_string(*params.axis_size)};
  std::vector<TypeId> lanes;
  std::optional<std::int64_t> found = params.axis_size;
  for (std::size_t k = 0; k < args.size(); ++k) {
    if (!params.in_dims[k]) {
      lanes.push_back(args[k]);
      continue;
    }
    if (!t.types[args[k]].is_tensor()) {
      const std::optional<TypeId> lane = lane_type(t.types, args[k]);
      if (*params.in_dims[k] != 0 || !lane) return bad_dim(t, "in_dims", k, *params.in_dims[k], args[k]);
      lanes.push_back(*lane);
      if (!found) found = batch_size(t.types, args[k]);
      continue;
    }
    const std::int64_t rank = t.types.rank(args[k]);
    const std::int64_t dim = *params.in_dims[k] < 0 ? *params.in_dims[k] + rank : *params.in_dims[k];
    if (!t.types[args[k]].is_tensor() || dim < 0 || dim >= rank)
      return bad_dim(t, "in_dims", k, *params.in_dims[k], args[k]);
    const Dims dims = t.types.dims(args[k]);
    const std::int64_t n = dims[static_cast<std::size_t>(dim)];
    if (found && *found != n)
      return Error{Code::Type, "[vmap] batch sizes differ: argument " + std::to_string(k) + " " +
                                   t.types.text(args[k]) + " has " + std::to_string(n) + " along in_dims " +
                                   std::to_string(*params.in_dims[k]) + ", expected " + std::to_string(*found)};
    found = n;
    std::vector<std::int64_t> lane(dims.begin(), dims.end());
    lane.erase(lane.begin() + dim);
    lanes.push_back(t.types.tensor(t.types.dtype(args[k]), lane));
  }
  if (!found) return Error{Code::Type, "[vmap] no argument is batched: give axis_size"};
  size = *found;
  return lanes;
}

Result<FunctionId> vmap(TransformEnv& env, FunctionId f, std::span<const TypeId> args, const VmapParams& params) {
  Tables& t = env.tables;
  std::int64_t size = 0;
  if (auto lanes = lane_types(env, args, params, size); !lanes) return lanes.error();
  const std::size_t results = t.bodies[f.body].results.size();
  if (params.out_dims.size() != 1 && params.out_dims.size() != results)
    return Error{Code::Type, "[vmap] out_dims has " + plural(params.out_dims.size(), "entry") + " for " +
                                 plural(results, "result")};
  Mask in, force(results, 0);
  for (const auto& d : params.in_dims) in.push_back(d.has_value());
  for (std::size_t k = 0; k < results; ++k) force[k] = out_dim(params, k).has_value();
  const Axis axis{size, params.axis_name, params.randomness};
  const bool chunked = params.chunk_size && *params.chunk_size < size;
  Result<Batched> inner = chunked ? Batched{} : batch(env, f, in, axis, force);
  if (!inner) return inner.error();
  if (!chunked && moves_nothing(params, inner->out)) return inner->f;
  Builder b(t, env.options, f, "vmap");
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < args.size(); ++k) {
    operands.push_back(b.param(args[k]));
    b.name_from(operands[k], static_cast<ValueId>(k));
  }
  for (std::size_t k = 0; k < args.size(); ++k) {
    const std::int64_t dim = params.in_dims[k].value_or(0);
    if (params.in_dims[k] && t.types[args[k]].is_tensor())
      operands[k] = move_dim(b, operands[k], dim < 0 ? dim + t.types.rank(args[k]) : dim, 0);
  }
  std::vector<ValueId> out = chunked
                                 ? batch_in_chunks(env, b, f, in, axis, *params.chunk_size, force, operands, inner->out)
                                 : b.emit_all(Op::call, operands, t.attrs.dict({{Key::callee, inner->f}}));
  for (std::size_t k = 0; k < out.size() && !b.failed(); ++k) {
    const std::optional<std::int64_t> to = out_dim(params, k);
    if (!to && inner->out[k])
      return Error{Code::Type,
                   "[vmap] out_dims[" + std::to_string(k) + "] is none, but the result depends on a batched input"};
    if (!to) continue;
    if (!t.types[b.type(out[k])].is_tensor()) {
      if (*to != 0) return bad_dim(t, "out_dims", k, *to, b.type(out[k]));
      continue;
    }
    const std::int64_t rank = b.rank(out[k]);
    const std::int64_t dim = *to < 0 ? *to + rank : *to;
    if (dim < 0 || dim >= rank) return bad_dim(t, "out_dims", k, *to, b.type(out[k]));
    out[k] = move_dim(b, out[k], 0, dim);
  }
  return b.seal(out);
}

}  // namespace tfvm
