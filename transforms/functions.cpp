#include "transforms/functions.h"

#include <algorithm>

#include "bytecode/rewriter.h"

namespace tfvm {

Result<FunctionId> rearrange(TransformEnv& env, FunctionId f, std::span<const std::uint32_t> params,
                             std::span<const std::uint32_t> results) {
  const Body& body = env.tables.bodies[f.body];
  Builder b(env.tables, env.options, f, "");
  std::vector<ValueId> args(body.num_params, kNoValue);
  for (std::uint32_t p : params) {
    args[p] = b.param(body.types[p]);
    b.name_from(args[p], body.param(p));
  }
  const std::vector<ValueId> all = inline_kin(b, f, args, Kin::Parent);
  std::vector<ValueId> picked;
  for (std::uint32_t r : results) picked.push_back(all[r]);
  return b.seal(picked);
}

Result<FunctionId> with_extra_params(TransformEnv& env, FunctionId f, std::span<const TypeId> extra) {
  const Body& body = env.tables.bodies[f.body];
  Builder b(env.tables, env.options, f, "");
  std::vector<ValueId> args;
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    args.push_back(b.param(body.types[k]));
    b.name_from(args[k], body.param(k));
  }
  for (TypeId t : extra) b.param(t);
  return b.seal(inline_kin(b, f, args, Kin::Parent));
}

std::vector<ValueId> inline_kin(Builder& b, FunctionId f, std::span<const ValueId> args, Kin kin) {
  Tables& t = b.tables();
  const Body& body = t.bodies[f.body];
  const DebugInfo& debug = t.debugs[f.debug];
  std::vector<ValueId> map(body.num_values(), kNoValue);
  std::copy(args.begin(), args.end(), map.begin());
  b.reserve(body.num_instrs(), body.num_values());
  for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
    const Instr in = body.instr(i);
    b.set_origin(kin == Kin::Parent        ? static_cast<InstrId>(i)
                 : i < debug.origin.size() ? debug.origin[i]
                                           : kNone<InstrId>);
    copy_mapped(b, body, in, map);
    for (std::uint32_t k = 0; in.op != Op::constant && k < in.num_results; ++k) {
      const std::uint32_t old = index(in.result(k));
      if (kin == Kin::Parent) {
        b.name_from(map[old], static_cast<ValueId>(old));
      } else if (old < debug.values.size() && debug.values[old].origin != kNoValue) {
        const ValueName& n = debug.values[old];
        b.name_from(map[old], n.origin, n.text == kNone<StrId> ? std::string_view{} : t.strings[n.text]);
      }
    }
  }
  std::vector<ValueId> out;
  for (ValueId v : body.results) out.push_back(b.failed() ? kNoValue : map[index(v)]);
  return out;
}

void forward(Builder& b, const Error& e) {
  if (b.failed()) return;
  if (e.loc.line) b.set_loc(e.loc);
  b.fail(e.code, e.message);
}

Error note_pass(const Tables& t, Error e, std::string_view pass, FunctionId f) {
  e.notes.push_back("in " + std::string(pass) + " of " + t.debugs.function_name(f.debug, t.strings));
  return e;
}

Mask slice(const Mask& m, std::size_t begin, std::size_t n) {
  const auto at = m.begin() + static_cast<std::ptrdiff_t>(begin);
  return Mask(at, at + static_cast<std::ptrdiff_t>(n));
}

Mask concat(std::initializer_list<const Mask*> parts) {
  Mask m;
  for (const Mask* p : parts) m.insert(m.end(), p->begin(), p->end());
  return m;
}

bool any(const Mask& m) {
  return std::ranges::any_of(m, [](auto f) { return f != 0; });
}

std::size_t count(const Mask& m) {
  return static_cast<std::size_t>(std::ranges::count_if(m, [](auto f) { return f != 0; }));
}

Mask differentiable(const Tables& t, std::span<const TypeId> types) {
  Mask m;
  for (TypeId type : types) m.push_back(t.types.is_differentiable(type));
  return m;
}

std::vector<std::uint32_t> positions(const Mask& m, bool wanted) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t k = 0; k < m.size(); ++k)
    if ((m[k] != 0) == wanted) out.push_back(k);
  return out;
}

std::vector<std::int64_t> memo_key(std::initializer_list<const Mask*> masks) {
  std::vector<std::int64_t> key;
  for (const Mask* m : masks) {
    key.push_back(static_cast<std::int64_t>(m->size()));
    key.insert(key.end(), m->begin(), m->end());
  }
  return key;
}

std::vector<std::uint32_t> regroup(std::span<const std::size_t> groups, const Mask& flags) {
  std::vector<std::uint32_t> out;
  auto extra = static_cast<std::uint32_t>(flags.size());
  std::size_t begin = 0;
  for (std::size_t n : groups) {
    for (std::size_t k = 0; k < n; ++k) out.push_back(static_cast<std::uint32_t>(begin + k));
    for (std::size_t k = 0; k < n; ++k)
      if (flags[begin + k]) out.push_back(extra++);
    begin += n;
  }
  return out;
}

bool is_zero(const Builder& b, ValueId v) {
  if (v == kNoValue || b.failed() || is_complex(b.tables().types.dtype(b.type(v)))) return false;
  const auto c = b.splat_of(v);
  return c && b.tables().consts.as_double(*c) == 0;
}

}  // namespace tfvm
