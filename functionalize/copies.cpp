#include "functionalize/copies.h"

#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/rewriter.h"

namespace tfvm::functional {

Copies::Copies(const Body& body, const Regions& regions)
    : body_(body), regions_(regions), defs_(definitions(body)), made_(body.num_values()), moved_(body.num_values(), 0) {
  for (std::uint32_t v = 0; v < body.num_values(); ++v) made_[v] = static_cast<ValueId>(v);
}

void Copies::view(const Instr& in) {
  made_[index(in.result())] = made_[index(in.operands[0])];
  moved_[index(in.result())] = moved_[index(in.operands[0])];
}

void Copies::views_behind(std::uint32_t i) {
  for (std::uint32_t j = i + 1; j < body_.num_instrs(); ++j)
    if (const Instr in = body_.instr(j); is_view(in.op)) view(in);
}

bool Copies::is_of(const Copy& c, ValueId v) const {
  const ValueId made = made_[index(v)];
  if (c.made != kNoValue) return c.made == made;
  const InstrId def = defs_[index(made)];
  return c.root == regions_.root(made) && (def == kNone<InstrId> || index(def) < c.instr);
}

bool Copies::covers(ValueId v, const Strided& place) const {
  return std::ranges::any_of(copies_, [&](const Copy& c) { return is_of(c, v) && may_intersect(c.place, place); });
}

std::optional<Copies::Found> Copies::find(ValueId v) {
  if (is_moved(v) || copies_.empty() || !regions_.place(v)) return std::nullopt;
  const Strided& place = *regions_.place(v);
  for (const Copy& c : copies_) {
    if (!is_of(c, v) || !may_intersect(c.place, place)) continue;
    std::optional<Strided> view = within(c.place, place);
    if (!view) continue;  // it lies in another copy of that instruction
    moved_[index(v)] = 1;
    return Found{c.value, *std::move(view)};
  }
  return std::nullopt;
}

}  // namespace tfvm::functional
