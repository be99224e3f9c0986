#include "bytecode/builder_memory.h"

namespace tfvm {

namespace {
constexpr std::size_t kLargestInstrs = 1024;  // some 100 KB
}  // namespace

void BuilderMemory::clear() {
  body.types.clear(), body.ops.clear(), body.attrs.clear(), body.operands.clear(), body.results.clear();
  body.operand_begin.clear(), body.result_begin.clear(), body.mut_params.clear();
  body.num_params = 0;
  body.full = body.effects = false;
  debug.name = debug.pass = kNone<StrId>;
  debug.parent = kNone<DebugId>;
  debug.loc = {};
  debug.origin.clear(), debug.locs.clear(), debug.values.clear();
  def.clear(), operands.clear(), types.clear(), operand_types.clear(), numbering.clear();
}

std::unique_ptr<BuilderMemory> SpareBuilders::take() {
  return count_ == 0 ? std::make_unique<BuilderMemory>() : std::move(spare_[--count_]);
}

void SpareBuilders::give(std::unique_ptr<BuilderMemory> memory) noexcept {
  if (count_ == spare_.size() || memory->body.ops.capacity() > kLargestInstrs) return;
  memory->clear();
  spare_[count_++] = std::move(memory);
}

}  // namespace tfvm
