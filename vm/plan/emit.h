#pragma once
// Second half of planning: fused items become steps, bases and work areas become places.

#include <memory>

#include "jit/x86/code_listener.h"
#include "jit/x86/loop.h"
#include "vm/plan/join.h"
#include "vm/plan/lower.h"
#include "vm/plan/memory.h"
#include "vm/plan/plan.h"
#include "vm/plan/updates.h"

namespace tfvm {

struct PlanOptions;

class Emitter {
 public:
  // `epilogues`, `pieces`: of find_epilogues, join_pieces; empty: none.
  Emitter(const Tables& t, const FlatBody& flat, Lowered lowered, std::vector<FuseItem> items,
          std::vector<std::uint8_t> epilogues, std::vector<Piece> pieces, Plan& plan, const PlanLookup& lookup,
          const PlanOptions& options);
  Status run();
  // In place of the items: all that the function computes as one nest over its parameters, then its results.
  Status run_whole(Nest nest);

 private:
  // Until all lifetimes are known a place in the frame is (kUnplaced + slot, offset in the slot).
  static constexpr std::uint32_t kUnplaced = 1u << 31;
  Address slot(std::int64_t bytes, std::uint32_t first, std::uint32_t last);
  Address work(std::int64_t bytes) { return slot(bytes, step_, step_); }  // of the present step
  Address place(const Access& a);
  Address base_place(std::uint32_t base);
  Piece spot(std::uint32_t base) const;  // the base whose memory it is in, and where there
  Addresses places(std::span<const Access> list);
  Addresses result_places(const ItemSource& s);
  Address pool_place(std::uint32_t base);
  PlanRef target(FunctionId f);
  StepOrigin origin() const {  // of the present step
    return (step_ < items_.size() ? low_.sources[items_[step_].origins.back()] : low_.sources.back()).origin;
  }
  bool has_epilogue(std::uint32_t step) const { return step < epilogues_.size() && epilogues_[step]; }
  bool may_be_native() const;
  // Of machine code that is made now; null where nobody asks.
  using LabelRef = std::shared_ptr<const CodeLabel>;
  LabelRef label(std::string_view kind, std::size_t number, const Nest& nest,
                 std::span<const StepOrigin> sources) const;
  std::shared_ptr<const Nest> shown_to_gate(Nest nest) const;

  void find_lifetimes();
  void find_sharing();
  void note_passed();
  Status emit_parts(Nest nest);
  Status emit_nest(Nest nest);
  Status add_nest(Nest nest, Addresses bases);
  std::vector<std::uint32_t> bases_of_roots() const;
  bool takes_roots(Addresses bases) const;
  void emit_kernel(const ItemSource& s, Op op);
  Status emit_opaque(const ItemSource& s);
  void emit_call(const ItemSource& s, const Instr& in);
  void emit_while(const ItemSource& s, const Instr& in);
  void emit_scan(const ItemSource& s, const Instr& in);
  void add_places(std::vector<Address>& to, Addresses list) const;
  void make_native(ScanStep& x);
  void make_native(WhileStep& x, FunctionId condition);
  void make_native(TapeScanStep& x);
  std::vector<Address> bases_of_loop(const ScanStep& x) const;
  void add_outside(NativeLoop& native, const Plan& body, std::span<const LoopCarry> carries,
                   std::vector<Address>& bases);
  void set_native(NativeLoop& native, LoopNest made, const std::vector<Address>& bases, std::size_t number,
                  std::span<const StepOrigin> sources);
  void emit_tape_scan(const ItemSource& s, const Instr& in);
  void emit_reduce(const ItemSource& s, const Instr& in);
  LoopCarry carry(const Plan& body, std::uint32_t param, std::uint32_t result, const Access& init, std::uint32_t out);
  Status finish();

  const Tables& t_;
  const FlatBody& flat_;
  Lowered low_;
  std::vector<FuseItem> items_;
  std::vector<std::uint8_t> epilogues_;
  std::vector<Piece> pieces_;
  Plan& plan_;
  const PlanLookup& lookup_;
  const PlanOptions& options_;
  std::vector<Lifetime> slots_;
  std::vector<std::uint32_t> base_slot_;  // per base, kNoIndex where it has none
  std::vector<std::int64_t> pool_at_;     // per base, -1 before its first use
  std::vector<std::uint32_t> pool_bases_;
  std::vector<std::uint32_t> local_;  // per base: its number within the nest at hand
  BaseUses uses_;
  std::vector<std::uint32_t> memory_;  // per base: the one whose memory it is in because of updates in place
  std::int64_t pool_bytes_ = 0;
  std::uint32_t step_ = 0;
};

// Calls fn(Address&) on every place of a plan.
template <class Fn>
void for_each_place(Plan& p, Fn fn) {
  for (Address& x : p.places) fn(x);
  for (NestStep& s : p.nests) fn(s.scratch);
  for (KernelStep& s : p.kernels) fn(s.scratch);
  for (CallStep& s : p.calls) fn(s.frame), fn(s.selector);
  const auto carries = [&](std::vector<LoopCarry>& list) {
    for (LoopCarry& c : list) fn(c.init), fn(c.result), fn(c.temp);
  };
  const auto tapes = [&](std::vector<TapeRow>& list) {
    for (TapeRow& r : list) fn(r.place);
  };
  for (WhileStep& s : p.whiles) {
    carries(s.carries), tapes(s.tapes);
    fn(s.cond_frame), fn(s.body_frame), fn(s.predicate), fn(s.native.kept);
  }
  for (TapeScanStep& s : p.tape_scans) carries(s.carries), tapes(s.inputs), tapes(s.outputs), fn(s.trips), fn(s.frame);
  for (ScanStep& s : p.scans) {
    carries(s.carries);
    for (ScanRow& r : s.inputs) fn(r.place);
    for (ScanRow& r : s.outputs) fn(r.place);
    fn(s.frame), fn(s.native.kept);
  }
  for (ReduceStep& s : p.reduces) {
    for (auto& o : s.operands) fn(o.x), fn(o.init), fn(o.result);
    fn(s.frame), fn(s.temp);
  }
  for (AssertStep& s : p.asserts) fn(s.predicate);
  for (PrintStep& s : p.prints) fn(s.value);
}

}  // namespace tfvm
