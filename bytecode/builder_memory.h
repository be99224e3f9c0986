#pragma once
// The vectors of a Builder. A pass makes builders by the dozen, so the tables keep those of a few that are done.

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "bytecode/body.h"

namespace tfvm {

struct BuilderMemory {
  Body body;
  DebugInfo debug;
  std::vector<InstrId> def;
  std::vector<ValueId> operands;
  std::vector<TypeId> types, operand_types;
  std::vector<std::uint64_t> numbering;

  void clear();  // keeps the room
};

class SpareBuilders {
 public:
  std::unique_ptr<BuilderMemory> take();
  void give(std::unique_ptr<BuilderMemory> memory) noexcept;  // what is large or one too many is freed

 private:
  std::array<std::unique_ptr<BuilderMemory>, 8> spare_;  // passes nest about as deep
  std::size_t count_ = 0;
};

}  // namespace tfvm
