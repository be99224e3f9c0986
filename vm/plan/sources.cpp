#include "vm/plan/sources.h"

namespace tfvm {

void note_sources(Lowered& low) {
  for (std::size_t k = 0; k < low.items.size(); ++k) {
    if (!low.items[k].nest) continue;
    const NestSource source{low.sources[k].instr + 1};
    for (NestNode& n : low.items[k].nest->nodes)
      if (n.source.index == 0) n.source = source;
    for (Reduction& r : low.items[k].nest->reductions)
      if (r.source.index == 0) r.source = source;
  }
}

std::vector<StepOrigin> sources_of(const WhileStep& s) {
  std::vector<StepOrigin> all = s.body->sources;
  all.insert(all.end(), s.cond->sources.begin(), s.cond->sources.end());
  return all;
}

std::vector<CodeLine> lines_of(const Tables& t, std::span<const StepOrigin> sources, const Nest& nest) {
  std::vector<CodeLine> lines;
  const auto add = [&](NestSource s) {
    if (s.index == 0 || s.index > sources.size()) return;
    if (lines.size() <= s.index) lines.resize(s.index + 1);
    if (lines[s.index].line > 0) return;
    const StepOrigin at = sources[s.index - 1];
    const Loc loc = t.debugs.find_loc(at.debug, at.instr);
    if (loc.line > 0) lines[s.index] = {std::string(t.strings[loc.file]), loc.line};
  };
  for (const NestNode& n : nest.nodes) add(n.source);
  for (const Reduction& r : nest.reductions) add(r.source);
  return lines;
}

}  // namespace tfvm
