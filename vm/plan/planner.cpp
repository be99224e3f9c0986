#include "vm/plan/planner.h"

#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "jit/region/columns.h"
#include "jit/region/layouts.h"
#include "jit/region/recompute.h"
#include "jit/region/share.h"
#include "jit/region/stores.h"
#include "vm/plan/code_text.h"
#include "vm/plan/emit.h"
#include "vm/plan/epilogues.h"
#include "vm/plan/fusion_report.h"
#include "vm/plan/interleave.h"
#include "vm/plan/join.h"
#include "vm/plan/loop_body.h"
#include "vm/plan/over_lanes.h"
#include "vm/plan/pick.h"
#include "vm/plan/update_report.h"
#include "vm/plan/whole.h"
#include "vm/tiers.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 46;  // of one value, so that sums of places never overflow

ValueType value_type(const Tables& t, TypeId id) {
  const Type& type = t.types[id];
  return {type.dtype, {type.dims.begin(), type.dims.end()}, t.types.bytes(id), type.kind == TypeKind::Tape};
}

void note_role(const Tables& t, const Instr& in, std::unordered_map<FunctionId, LoopRole>& looped) {
  const auto count = [&](Key key) { return static_cast<std::uint32_t>(t.attrs.get_int(in.attrs, key)); };
  if (in.op == Op::scan || in.op == Op::tape_scan) {
    looped[t.attrs.get_func(in.attrs, Key::body)] = {true, count(Key::consts), count(Key::carry)};
  } else if (in.op == Op::while_) {
    looped.try_emplace(t.attrs.get_func(in.attrs, Key::cond));  // it writes no carry, and may read all
    looped.try_emplace(t.attrs.get_func(in.attrs, Key::body),
                       LoopRole{false, count(Key::body_consts), in.num_results - count(Key::tapes)});
  }
}

// Of `order` (callees first), those that the root's plan or another needed one calls: inlined functions need no plan.
// `looped`: those that a loop runs.
std::unordered_set<FunctionId> needed_plans(const Tables& t, const Flattener& flats,
                                            const std::vector<FunctionId>& order,
                                            std::unordered_map<FunctionId, LoopRole>& looped) {
  std::unordered_set<FunctionId> needed{order.back()};
  for (std::size_t k = order.size(); k-- > 0;) {
    if (!needed.contains(order[k])) continue;
    const Body& b = flats[order[k]].body;
    for (std::uint32_t i = 0; i < b.num_instrs(); ++i) {
      for (FunctionId g : callees(t, b.ops[i], b.attrs[i])) needed.insert(g);
      note_role(t, b.instr(i), looped);
    }
  }
  return needed;
}

// What is stored and how so that nests are faster. Values that were not there before have memory of their own.
void choose_memory(std::vector<FuseItem>& items, Lowered& lowered, std::vector<std::uint8_t>& live_out,
                   const FuseOptions& options) {
  const auto add = [&](const std::vector<std::int64_t>& list) {
    for (std::int64_t bytes : list) lowered.bases.push_back({PlanBase::Kind::Slot, 0, bytes});
    live_out.resize(lowered.bases.size(), 0);
  };
  add(choose_stores(items, static_cast<std::uint32_t>(lowered.bases.size()), live_out, options));
  choose_layouts(items, live_out);
  add(share(items, static_cast<std::uint32_t>(lowered.bases.size()), options));
  add(copy_columns(items, static_cast<std::uint32_t>(lowered.bases.size())));
}

}  // namespace

PlanOptions plan_options_of_environment() {
  PlanOptions o;
  if (const char* off = std::getenv("TFVM_NO_FUSION")) o.fuse.enabled = *off != '1';
  return o;
}

Result<PlanRef> make_plan(const Tables& t, const FlatBody& flat, FunctionId f, const LoopRole* role,
                          const PlanOptions& options, const PlanLookup& lookup) {
  if (flat.body.full) return Error(Code::Unsupported, "a plan is made of a function that writes: with functionalize");
  auto plan = std::make_shared<Plan>();
  plan->function = f;
  const bool avx512 = !options.tiers || options.tiers->options().isa != Isa::Avx2;
  Result<Lowered> lowered = lower(t, flat, avx512);
  if (!lowered) return std::move(lowered).error();
  for (TypeId type : flat.body.param_types()) plan->params.push_back(value_type(t, type));
  for (ValueId v : flat.body.results) plan->results.push_back(value_type(t, flat.body.type(v)));
  for (const PlanBase& b : lowered->bases)
    if (b.bytes < 0 || b.bytes > kMaxBytes)
      return Error(Code::Memory, "a value is larger than any memory that this could run in");
  for (const ValueType& r : plan->results) plan->gives_tapes = plan->gives_tapes || r.is_tape;
  if (options.keep_nests || (options.tiers && options.tiers->has_listener())) plan->sources = flat.origins;
  if (role && options.tiers) {
    plan->as_nest = one_nest(t, flat, *lowered, *plan, *role);
    if (options.keep_nests && !plan->as_nest) plan->not_one_nest = why_not_one_nest(flat, *lowered);
  }
  std::optional<Nest> whole;
  const bool is_scanned = role && role->is_scan;
  if (!is_scanned && options.straight && options.fuse.enabled) whole = whole_nest(t, flat, *lowered, *plan);
  if (options.tiers && options.fuse.enabled && options.fuse.recompute) {
    over_lanes(t, flat, *plan, *lowered);
    pick_in_nests(t, flat, *lowered);
  }
  std::vector<std::uint8_t> live_out;
  for (const PlanBase& b : lowered->bases) live_out.push_back(b.kind == PlanBase::Kind::Result);
  std::vector<FuseItem> before;
  if (options.note_fusion) before = lowered->items;
  std::vector<FuseItem> items = fuse(std::move(lowered->items), live_out, options.fuse);
  if (options.fuse.enabled && options.fuse.recompute) {
    if (options.tiers) recompute_small(items, live_out);
    choose_memory(items, *lowered, live_out, options.fuse);
    put_lane_nests(items, *lowered);
  }
  if (whole && !is_faster(*whole, items)) whole.reset();
  if (plan->as_nest && options.fuse.enabled && !is_faster_in_loop(*plan->as_nest, items, is_scanned)) {
    plan->as_nest = nullptr;
    plan->not_one_nest = "nests are likely to be faster than its elements one by one, with one lane for all";
  }
  readers_first({t, flat, *lowered, lookup}, items);
  std::vector<std::uint8_t> epilogues;
  if (options.tiers && options.fuse.enabled && options.fuse.recompute)
    epilogues = find_epilogues({t, flat, *lowered, lookup}, items, options.large_product);
  if (options.note_fusion) note_fusion({t, flat, *lowered, lookup}, before, items, epilogues, options.fuse, *plan);
  std::vector<Piece> pieces;
  if (options.fuse.enabled && !whole) {
    interleave({t, flat, *lowered, lookup}, items, epilogues);
    pieces = join_pieces({t, flat, *lowered, lookup}, items, epilogues);
  }
  Emitter emitter(t, flat, *std::move(lowered), std::move(items), std::move(epilogues), std::move(pieces), *plan,
                  lookup, options);
  if (Status s = whole ? emitter.run_whole(*std::move(whole)) : emitter.run(); !s) return std::move(s).error();
  if (plan->depth > options.max_depth)
    return Error(Code::Limit, fmt::format("calls and control flow are nested {} deep", plan->depth));
  return PlanRef(std::move(plan));
}

Result<PlanRef> PlanCache::get(Tables& t, FunctionId f) {
  if (const auto it = plans_.find(f); it != plans_.end()) {
    if (Status in_place = check_in_place(t, *it->second); !in_place) return std::move(in_place).error();
    return it->second;
  }
  Flattener flats(t, options_.inlining);
  const std::vector<FunctionId> order = flats.add(f);
  std::unordered_map<FunctionId, LoopRole> looped;
  const auto needed = needed_plans(t, flats, order, looped);
  const PlanLookup lookup = [&](FunctionId g) { return plans_.at(g); };
  for (FunctionId g : order) {
    if (!needed.contains(g) || plans_.contains(g)) continue;
    const auto role = looped.find(g);
    Result<PlanRef> plan = make_plan(t, flats[g], g, role == looped.end() ? nullptr : &role->second, options_, lookup);
    if (!plan) return std::move(plan).error().note("in " + t.debugs.function_name(g.debug, t.strings));
    plans_.emplace(g, *std::move(plan));
  }
  const PlanRef& plan = plans_.at(f);
  if (Status in_place = check_in_place(t, *plan); !in_place) return std::move(in_place).error();
  return plan;
}

}  // namespace tfvm
