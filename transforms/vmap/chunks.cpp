// vmap a part of the lanes at a time: a scan over chunks, and one call for the lanes that are left.
#include "transforms/vmap/control.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

struct Chunks {
  TransformEnv& env;
  Builder& b;
  FunctionId source;
  const Mask& in;
  const Mask& force;
  Axis axis;
  std::int64_t size, count;  // of a chunk; of whole chunks

  AttrTable& attrs() { return b.tables().attrs; }

  // v[lanes, …]: lanes begin … end − 1
  ValueId lanes(ValueId v, std::int64_t begin, std::int64_t end) {
    if (b.failed()) return kNoValue;
    const Dims d = b.dims(v);
    std::vector<std::int64_t> start(d.size(), 0), limit(d.begin(), d.end());
    start[0] = begin;
    limit[0] = end;
    return b.emit(Op::slice, {v}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}});
  }

  // v[a, b, …] -> v[shape…] where the first `old` dims become `lead`.
  ValueId reshape(ValueId v, std::size_t old, std::initializer_list<std::int64_t> lead) {
    if (b.failed()) return kNoValue;
    const Dims d = b.dims(v);
    std::vector<std::int64_t> shape(lead);
    shape.insert(shape.end(), d.begin() + static_cast<std::ptrdiff_t>(old), d.end());
    return b.emit(Op::reshape, {v}, {{Key::shape, Ints(shape)}});
  }

  // (number of the first lane, arguments…) -> results, for n lanes. Flags of the results come back.
  FunctionId function(std::int64_t n, Mask& out) {
    Axis part = axis;
    part.size = n;
    part.chunk = true;
    Result<Batched> r = batch(env, source, in, part, force);
    const GlobalUse first[] = {chunk_start(b.tables())};
    Result<FunctionId> f = r ? lift_globals(b.tables(), r->f, first) : r.error();
    if (!f) {
      forward_error(b, f.error());
      return {};
    }
    out = r->out;
    return *f;
  }

  // scan over whole chunks: consts, then the number of the first lane and the batched arguments chunk by chunk.
  FunctionId body(FunctionId f) {
    Builder inner(b.tables(), env.options, source, "vmap");
    const Body& body = b.tables().bodies[f.body];
    std::vector<ValueId> args(body.num_params, kNoValue);
    for (std::size_t k = 0; k < in.size(); ++k)
      if (!in[k]) args[k + 1] = inner.param(body.types[k + 1]);
    args[0] = inner.param(body.types[0]);
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k]) args[k + 1] = inner.param(body.types[k + 1]);
    Result<FunctionId> made = inner.seal(inner.emit_all(Op::call, args, attrs().dict({{Key::callee, f}})));
    if (!made) forward_error(b, made.error());
    return made ? *made : FunctionId{};
  }

  std::vector<ValueId> whole(std::span<const ValueId> args, Mask& out) {
    const FunctionId f = function(size, out);
    if (b.failed()) return {};
    const FunctionId step = body(f);
    if (b.failed()) return {};
    std::vector<ValueId> operands;
    for (std::size_t k = 0; k < in.size(); ++k)
      if (!in[k]) operands.push_back(args[k]);
    const auto consts = static_cast<std::int64_t>(operands.size());
    const std::int64_t shape[] = {count};
    const ValueId number = b.emit(Op::iota, {}, {{Key::shape, Ints(shape)}, {Key::axis, 0}, {Key::dtype, DType::I64}});
    operands.push_back(b.emit(Op::mul, {number, b.scalar_int(DType::I64, size)}));
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k]) operands.push_back(reshape(lanes(args[k], 0, count * size), 1, {count, size}));
    std::vector<ValueId> results =
        b.emit_all(Op::scan, operands, attrs().dict({{Key::body, step}, {Key::consts, consts}, {Key::length, count}}));
    for (std::size_t k = 0; k < results.size(); ++k)  // what does not depend on lanes is in every row
      results[k] = out[k] ? reshape(results[k], 2, {count * size}) : reshape(lanes(results[k], 0, 1), 1, {});
    return results;
  }

  std::vector<ValueId> rest(std::span<const ValueId> args, Mask& out) {
    const FunctionId f = function(axis.size - count * size, out);
    if (b.failed()) return {};
    std::vector<ValueId> operands{b.scalar_int(DType::I64, count * size)};
    for (std::size_t k = 0; k < in.size(); ++k)
      operands.push_back(in[k] ? lanes(args[k], count * size, axis.size) : args[k]);
    return b.emit_all(Op::call, operands, attrs().dict({{Key::callee, f}}));
  }
};

}  // namespace

std::vector<ValueId> batch_in_chunks(TransformEnv& env, Builder& b, FunctionId f, const Mask& in, const Axis& axis,
                                     std::int64_t chunk, const Mask& force, std::span<const ValueId> args, Mask& out) {
  Chunks c{env, b, f, in, force, axis, chunk, axis.size / chunk};
  std::vector<ValueId> results = c.whole(args, out);
  if (b.failed() || c.count * chunk == axis.size) return results;
  Mask last;
  const std::vector<ValueId> tail = c.rest(args, last);
  if (!b.failed() && last != out) b.fail(Code::Internal, "chunks of vmap differ in what is batched");
  for (std::size_t k = 0; k < results.size() && !b.failed(); ++k)
    if (out[k]) results[k] = b.emit(Op::concat, {results[k], tail[k]}, {{Key::axis, 0}});
  return results;
}

}  // namespace tfvm
