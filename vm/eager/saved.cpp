#include "vm/eager/saved.h"

#include <algorithm>

#include <fmt/format.h>

#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "bytecode/externs.h"
#include "functionalize/functionalize.h"
#include "vm/plan/flat.h"

namespace tfvm {

std::uint32_t WriteSites::add(std::string_view op, Loc loc) {
  const std::lock_guard guard(lock_);
  std::string text = loc.line ? fmt::format("{} in line {}", op, loc.line) : std::string(op);
  const auto [it, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size() + 1));
  if (is_new) texts_.push_back(std::move(text));
  return it->second;
}

std::string WriteSites::text(std::uint32_t site) const {
  const std::lock_guard guard(lock_);
  return site > 0 && site <= texts_.size() ? texts_[site - 1] : "the host";
}

Status check_saved(std::span<const Tensor> tensors, const WriteSites* sites) {
  const auto stale = std::ranges::find_if(tensors, [](const Tensor& t) { return t.is_stale(); });
  if (stale == tensors.end()) return ok();
  const std::string by = sites ? sites->text(stale->storage()->written_by()) : "a write";
  return Error(Code::Type, fmt::format("a pack that keeps {} of its inputs is used after {} has written into it: use "
                                       "the pack before, or make it of a clone",
                                       stale->type_text(), by));
}

std::vector<std::uint8_t> pack_leaves(const Tables& t, std::span<const TypeId> types) {
  std::vector<std::uint8_t> out;
  for (TypeId type : types)
    out.insert(out.end(), leaf_types(t, type).size(), t.types[type].kind == TypeKind::Pack ? 1 : 0);
  if (std::ranges::count(out, 1) == 0) out.clear();
  return out;
}

std::vector<std::uint32_t> written_behind(const Tables& t, const Body& body, std::uint32_t i) {
  const Sharing shares = sharing(t, body);
  std::vector<std::uint32_t> out;
  const auto add = [&](ValueId v) {
    const Roots& roots = shares.values[index(v)];
    out.insert(out.end(), roots.begin(), roots.end());
  };
  for (++i; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    if (is_write(in.op)) add(in.operands[0]);
    if (in.op == Op::extern_)
      if (const Result<ExternArgs> args = extern_args(t, in.attrs, in.operands.size()))
        for (std::size_t k = 0; k < in.operands.size(); ++k)
          if (args->mut[k]) add(in.operands[k]);
    const std::vector<FunctionId> functions = callees(t, in.op, in.attrs);
    for (std::size_t c = 0; c < functions.size(); ++c) {
      if (!t.body(functions[c]).full) continue;
      for (std::uint32_t g : written_globals(t, functions[c])) out.push_back(g | kGlobalRoot);
      const auto& muts = t.body(functions[c]).mut_params;
      for (std::size_t p = 0; p < muts.size(); ++p)
        if (const auto operand = shared_operand(t, in, c, p); operand && muts[p]) add(in.operands[*operand]);
    }
  }
  return out;
}

}  // namespace tfvm
