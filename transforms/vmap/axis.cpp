#include "transforms/vmap/axis.h"

namespace tfvm {

GlobalUse chunk_start(Tables& t) { return {t.strings.intern("vmap.first"), -1, t.types.scalar(DType::I64)}; }

namespace {

constexpr std::uint8_t kDraws = 1, kCollectives = 2;

std::uint8_t use_of(TransformEnv& env, FunctionId f);

std::uint8_t use_of(TransformEnv& env, AttrId id) {
  const Attr a = env.tables.attrs[id];
  std::uint8_t use = a.kind == AttrKind::Func ? use_of(env, a.func) : 0;
  for (AttrId item : a.items) use |= use_of(env, item);
  return use;
}

std::uint8_t use_of(TransformEnv& env, const Instr& in) {
  if (in.op == Op::constant) return 0;
  if (in.op == Op::rng_bits) return kDraws;
  const OpKind kind = info(in.op).kind;
  if (kind == OpKind::Collective) return kCollectives;
  return kind == OpKind::Control ? use_of(env, in.attrs) : std::uint8_t{0};
}

std::uint8_t use_of(TransformEnv& env, FunctionId f) {
  if (const auto it = env.lane_uses.find(f.body); it != env.lane_uses.end()) return it->second;
  const Body& body = env.tables.bodies[f.body];
  std::uint8_t use = 0;
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) use |= use_of(env, body.instr(i));
  env.lane_uses.emplace(f.body, use);
  return use;
}

LaneUse unpacked(std::uint8_t use) { return {(use & kDraws) != 0, (use & kCollectives) != 0}; }

}  // namespace

LaneUse lane_use(TransformEnv& env, FunctionId f) { return unpacked(use_of(env, f)); }
LaneUse lane_use(TransformEnv& env, const Instr& in) { return unpacked(use_of(env, in)); }

}  // namespace tfvm
