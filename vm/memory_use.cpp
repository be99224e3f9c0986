#include "vm/memory_use.h"

#include <algorithm>
#include <unordered_set>

#include "vm/plan/walk.h"
#include "vm/run_steps.h"

namespace tfvm {

std::int64_t storage_bytes(std::int64_t bytes) { return kAlignment + align_up(std::max<std::int64_t>(bytes, 1)); }

namespace {

bool writes_tapes(const Plan& plan) {
  bool found = false;
  for_each_plan(plan, [&](const Plan& p) {
    for (const WhileStep& s : p.whiles) found = found || !s.tapes.empty();
    found = found || !p.tape_scans.empty();
  });
  return found;
}

// Per tensor of a value; only packs have tapes.
std::vector<std::uint8_t> tapes_in(VM& vm, const Value& v) {
  std::vector<std::uint8_t> out(v.leaves.size(), 0);
  if (!v.hold) return out;
  const std::lock_guard guard(vm.lock());
  const Tables& t = vm.tables();
  const std::vector<TypeId> leaves = leaf_types(t, v.type);
  for (std::size_t k = 0; k < leaves.size() && k < out.size(); ++k) out[k] = t.types[leaves[k]].kind == TypeKind::Tape;
  return out;
}

}  // namespace

CallBytes call_bytes(const Function& f) {
  CallBytes b;
  if (!f.plan) {
    b.grows = true;
    return b;
  }
  const Plan& plan = *f.plan;
  b.working = storage_bytes(plan.frame_bytes);
  b.grows = writes_tapes(plan);
  for (std::size_t k = 0; k < plan.results.size(); ++k) {
    const bool is_input = !f.kept.empty() && f.kept[k] &&
                          std::ranges::any_of(plan.result_copies, [&](const ResultCopy& c) { return c.result == k; });
    (is_input ? b.kept : b.outputs) += storage_bytes(plan.results[k].bytes);
  }
  for_each_plan(plan, [&](const Plan& p) { b.constants += p.pool ? p.pool->bytes() : 0; });
  return b;
}

std::int64_t value_bytes(VM& vm, std::span<const Value> values) {
  std::unordered_set<const std::byte*> seen;
  std::unordered_set<const Tape*> tapes;
  std::int64_t bytes = 0;
  for (const Value& v : values) {
    const std::vector<std::uint8_t> is_tape = tapes_in(vm, v);
    for (std::size_t k = 0; k < v.leaves.size(); ++k) {
      const Tensor& t = v.leaves[k];
      for (std::int64_t i = 0; is_tape[k] && i < t.elements(); ++i)
        if (const Tape* tape = tape_at(t.data() + 8 * i); tape && tapes.insert(tape).second) bytes += tape->bytes();
      const StorageRef& s = t.storage();
      if (s && s->is_own() && seen.insert(s->data()).second) bytes += storage_bytes(s->bytes());
    }
  }
  return bytes;
}

}  // namespace tfvm
