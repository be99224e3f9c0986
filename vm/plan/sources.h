#pragma once
// Of which lines of the program nodes of nests are. NestSource counts the instructions of the flat body that a nest was
// made of; a plan keeps where these come from, if somebody asks. A loop's nest is of its body, and of its condition
// behind it.

#include <vector>

#include "jit/x86/code_listener.h"
#include "vm/plan/lower.h"
#include "vm/plan/plan.h"

namespace tfvm {

// Gives nodes and reductions that have none the instruction of their item.
void note_sources(Lowered& low);

std::vector<StepOrigin> sources_of(const WhileStep& s);

// Of each source that the nest has; empty where `sources` is.
std::vector<CodeLine> lines_of(const Tables& t, std::span<const StepOrigin> sources, const Nest& nest);

}  // namespace tfvm
