#include "bytecode/rewriter.h"

#include "bytecode/inline_vector.h"

namespace tfvm {

void copy_mapped(Builder& b, const Body& from, const Instr& in, std::span<ValueId> map) {
  InlineVector<ValueId, 8> operands;
  for (ValueId v : in.operands) operands.push_back(map[index(v)]);
  const ValueId first = b.copy(from, in, {operands.data(), operands.size()});
  for (std::uint32_t k = 0; first != kNoValue && k < in.num_results; ++k)
    map[index(in.result(k))] = static_cast<ValueId>(index(first) + k);
}

Rewriter::Rewriter(Builder& b, FunctionId source, bool copy_params) : b_(b), body_(b.tables().bodies[source.body]) {
  map_.assign(body_.num_values(), kNoValue);
  b_.reserve(body_.num_instrs(), body_.num_values());
  for (std::uint32_t k = 0; copy_params && k < body_.num_params; ++k) {
    map_[k] = b_.param(body_.types[k], k < body_.mut_params.size() && body_.mut_params[k]);
    b_.name_from(map_[k], body_.param(k));
  }
  if (body_.full) b_.set_full();
}

std::span<const ValueId> Rewriter::operands(const Instr& in) {
  scratch_.clear();
  for (ValueId v : in.operands) scratch_.push_back(map_[index(v)]);
  return scratch_;
}

void Rewriter::copy(InstrId i) {
  const Instr in = body_.instr(i);
  begin(i);
  copy_mapped(b_, body_, in, map_);
  if (in.op == Op::constant) return;
  for (std::uint32_t k = 0; k < in.num_results; ++k) b_.name_from((*this)(in.result(k)), in.result(k));
}

Result<FunctionId> Rewriter::seal() {
  std::vector<ValueId> results;
  for (ValueId v : body_.results) results.push_back(map_[index(v)]);
  return b_.seal(results);
}

}  // namespace tfvm
