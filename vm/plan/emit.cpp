#include "vm/plan/emit.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "jit/region/build.h"
#include "jit/region/code.h"
#include "jit/region/edges.h"
#include "jit/region/time.h"
#include "vm/plan/epilogues.h"
#include "vm/plan/items.h"
#include "vm/plan/planner.h"
#include "vm/plan/sources.h"
#include "vm/plan/update_report.h"
#include "vm/tiers.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMostWork = std::int64_t{1} << 60;

std::int64_t bytes(const Access& a, std::int64_t elements) { return elements * size_of(a.dtype); }

}  // namespace

Emitter::Emitter(const Tables& t, const FlatBody& flat, Lowered lowered, std::vector<FuseItem> items,
                 std::vector<std::uint8_t> epilogues, std::vector<Piece> pieces, Plan& plan, const PlanLookup& lookup,
                 const PlanOptions& options)
    : t_(t),
      flat_(flat),
      low_(std::move(lowered)),
      items_(std::move(items)),
      epilogues_(std::move(epilogues)),
      pieces_(std::move(pieces)),
      plan_(plan),
      lookup_(lookup),
      options_(options) {
  const std::size_t n = low_.bases.size();
  base_slot_.assign(n, kNoIndex);
  pool_at_.assign(n, -1);
  local_.assign(n, kNoIndex);
}

Address Emitter::slot(std::int64_t bytes, std::uint32_t first, std::uint32_t last) {
  slots_.push_back({bytes, first, last});
  return {kUnplaced + static_cast<std::uint32_t>(slots_.size() - 1), 0};
}

Piece Emitter::spot(std::uint32_t base) const {
  Piece p{memory_[base]};
  while (!pieces_.empty() && pieces_[p.whole].whole != kNoIndex) {
    const Piece& in = pieces_[p.whole];
    p = {memory_[in.whole], p.offset + in.offset};
  }
  return p;
}

// One slot for all values of a chain of updates in place.
void Emitter::find_lifetimes() {
  uses_ = find_uses(low_, items_);
  keep_operands(items_, epilogues_, uses_);
  join_uses(pieces_, uses_);
  memory_ = shared_memory({t_, flat_, low_, lookup_}, items_, uses_);
  for (std::uint32_t b = 0; b < low_.bases.size(); ++b) {
    const std::uint32_t owner = spot(b).whole;
    if (low_.bases[owner].kind != PlanBase::Kind::Slot) continue;
    if (uses_.writer[b] == 0 && low_.bases[b].bytes > 0) continue;   // fused away
    if (!pieces_.empty() && pieces_[b].whole != kNoIndex) continue;  // as long as the whole
    const std::uint32_t first = std::max(uses_.writer[b], 1u) - 1;
    const std::uint32_t last = std::max(first + 1, uses_.last_read[b]) - 1;
    if (base_slot_[owner] == kNoIndex) {
      base_slot_[owner] = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back({low_.bases[owner].bytes, first, last});
    }
    Lifetime& slot = slots_[base_slot_[owner]];
    slot.first = std::min(slot.first, first);
    slot.last = std::max(slot.last, last);
  }
}

Address Emitter::pool_place(std::uint32_t base) {
  if (pool_at_[base] < 0) {
    pool_bytes_ = align_up(pool_bytes_, low_.bases[base].bytes < kAlignment ? 16 : kAlignment);
    pool_at_[base] = pool_bytes_;
    pool_bytes_ += low_.bases[base].bytes;
    pool_bases_.push_back(base);
  }
  return {kPoolRoot, pool_at_[base]};
}

Address Emitter::base_place(std::uint32_t base) {
  const auto [whole, offset] = spot(base);
  const PlanBase& b = low_.bases[whole];
  switch (b.kind) {
    case PlanBase::Kind::Param:
      return {kFirstParam + b.index, 0};
    case PlanBase::Kind::Const:
    case PlanBase::Kind::Made:
      return pool_place(whole);
    case PlanBase::Kind::Result:
      return {plan_.first_result() + b.index, offset};
    case PlanBase::Kind::Slot:
      break;
  }
  return base_slot_[whole] == kNoIndex ? Address{kFrameRoot, 0} : Address{kUnplaced + base_slot_[whole], offset};
}

Address Emitter::place(const Access& a) {
  Address p = base_place(a.base);
  p.offset += bytes(a, a.offset);
  return p;
}

Addresses Emitter::places(std::span<const Access> list) {
  const Addresses out{static_cast<std::uint32_t>(plan_.places.size()), static_cast<std::uint32_t>(list.size())};
  for (const Access& a : list) plan_.places.push_back(place(a));
  return out;
}

Addresses Emitter::result_places(const ItemSource& s) {
  const Addresses out{static_cast<std::uint32_t>(plan_.places.size()), static_cast<std::uint32_t>(s.out.size())};
  for (std::uint32_t b : s.out) plan_.places.push_back(base_place(b));
  return out;
}

PlanRef Emitter::target(FunctionId f) {
  PlanRef p = lookup_(f);
  plan_.depth = std::max(plan_.depth, p->depth + 1);
  return p;
}

static_assert(FuseOptions{}.max_accesses + FuseOptions{}.max_stores + kMaxReductions <= NestStep::kMaxBases);

// The bases of all parameters and results in the order of the roots; empty where a result has none of its own.
std::vector<std::uint32_t> Emitter::bases_of_roots() const {
  std::vector<std::uint32_t> bases(plan_.num_roots() - kFirstParam, kNoIndex);
  for (std::uint32_t b = 0; b < low_.bases.size(); ++b) {
    const PlanBase& base = low_.bases[b];
    if (base.kind == PlanBase::Kind::Param) bases[base.index] = b;
    if (base.kind == PlanBase::Kind::Result && memory_[b] == b) bases[plan_.params.size() + base.index] = b;
  }
  if (std::ranges::find(bases, kNoIndex) != bases.end() || bases.size() > NestStep::kMaxBases) return {};
  return bases;
}

// A nest whose masks change at the edges of its loops is some steps; one that runs on tiles of a product is not.
Status Emitter::emit_parts(Nest nest) {
  const bool is_alone =
      (step_ > 0 && has_epilogue(step_ - 1)) || !options_.tiers || !options_.fuse.enabled || !options_.fuse.recompute;
  if (is_alone) return emit_nest(std::move(nest));
  for (Nest& part : cut_at_edges(std::move(nest), options_.fuse.per_nest))
    if (Status s = emit_nest(std::move(part)); !s) return s;
  return ok();
}

Status Emitter::emit_nest(Nest nest) {
  std::vector<std::uint32_t> bases;
  if (items_.size() == 1 && pieces_.empty()) bases = bases_of_roots();
  for (std::uint32_t k = 0; k < bases.size(); ++k) local_[bases[k]] = k;
  const auto local = [&](std::uint32_t base) {
    if (local_[base] == kNoIndex) {
      local_[base] = static_cast<std::uint32_t>(bases.size());
      bases.push_back(base);
    }
    return local_[base];
  };
  std::vector<std::uint8_t> loaded(nest.accesses.size(), 0);
  for (const NestNode& n : nest.nodes)
    if (n.kind == NestNodeKind::Load) loaded[n.access] = 1;
  for (std::size_t k = 0; k < nest.accesses.size(); ++k)
    nest.accesses[k].base = loaded[k] ? local(nest.accesses[k].base) : 0;
  for (Store& s : nest.stores) s.to.base = local(s.to.base);
  for (Reduction& r : nest.reductions) r.to.base = local(r.to.base);

  if (bases.size() > NestStep::kMaxBases) return Error(Code::Internal, "a loop nest has too many bases");
  const Addresses list{static_cast<std::uint32_t>(plan_.places.size()), static_cast<std::uint32_t>(bases.size())};
  for (std::uint32_t b : bases) {
    plan_.places.push_back(base_place(b));
    local_[b] = kNoIndex;
  }
  return add_nest(std::move(nest), list);
}

Status Emitter::add_nest(Nest nest, Addresses bases) {
  NestStep step;
  step.bases = bases;
  Result<NestCodePtr> code = prepare(nest);
  if (!code) return std::move(code).error();
  step.code = *std::move(code);
  step.scratch = work(static_cast<std::int64_t>(scratch_bytes(*step.code)));
  step.work = time_of(nest);
  const auto ir = std::make_shared<const Nest>(std::move(nest));
  if (options_.keep_nests) step.ir = ir;
  if (may_be_native()) {
    const std::shared_ptr<const Nest> given = options_.gate ? shown_to_gate(*ir) : ir;
    const bool in_tiles = step_ > 0 && has_epilogue(step_ - 1);
    step.native = options_.tiers->slot(
        [given, in_tiles, label = label("nest", plan_.nests.size(), *given, plan_.sources)](NestCompiler& compiler) {
          if (label) return compiler.compile(*given, *label, in_tiles);
          return compiler.compile(*given, {}, in_tiles);
        });
  }
  plan_.steps.push_back({StepKind::Nest, static_cast<std::uint32_t>(plan_.nests.size())});
  plan_.nests.push_back(std::move(step));
  return ok();
}

// Everything is read and written by the one step. What it is given is in the order of the roots.
Status Emitter::run_whole(Nest nest) {
  plan_.param_last_read.assign(plan_.params.size(), 1);
  plan_.result_write.assign(plan_.results.size(), 1);
  note_passed();
  const std::uint32_t count = plan_.num_roots() - kFirstParam;
  for (std::uint32_t k = 0; k < count; ++k) plan_.places.push_back({kFirstParam + k, 0});
  if (Status s = add_nest(std::move(nest), {0, count}); !s) return s;
  plan_.origins.push_back(low_.sources.back().origin);
  return finish();
}

bool Emitter::may_be_native() const {
  return options_.tiers && (!options_.gate || options_.gate->may_be_native(origin()));
}

Emitter::LabelRef Emitter::label(std::string_view kind, std::size_t number, const Nest& nest,
                                 std::span<const StepOrigin> sources) const {
  if (!options_.tiers->has_listener()) return nullptr;
  const auto made = std::make_shared<CodeLabel>();
  made->name = fmt::format("{} {}", kind, number);
  made->lines = lines_of(t_, sources, nest);
  StepOrigin at = origin();  // a copy of a result has none
  for (std::size_t k = low_.sources.size(); at.debug == kNone<DebugId> && k-- > 0;) at = low_.sources[k].origin;
  if (at.debug == kNone<DebugId>) return made;
  made->name = t_.debugs.function_name(at.debug, t_.strings) + ' ' + made->name;
  const Loc loc = t_.debugs.find_loc(at.debug, at.instr);
  made->line = loc.line;
  if (loc.line > 0) made->file = t_.strings[loc.file];
  return made;
}

std::shared_ptr<const Nest> Emitter::shown_to_gate(Nest nest) const {
  options_.gate->made_native(nest);
  return std::make_shared<const Nest>(std::move(nest));
}

void Emitter::emit_kernel(const ItemSource& s, Op op) {
  KernelStep k;
  k.kernel = s.kernel;
  k.op = op;
  k.is_check = s.is_check;
  k.inputs = static_cast<std::uint32_t>(s.in.size());
  const Instr in = flat_.body.instr(s.instr);
  std::vector<Access> all = s.in;
  std::vector<ValueId> values(in.operands.begin(), in.operands.end());
  for (std::uint32_t r = 0; r < in.num_results; ++r) {
    const Type& type = t_.types[flat_.body.type(in.result(r))];
    all.push_back(row_major(s.out[r], type.dtype, type.dims));
    values.push_back(in.result(r));
  }
  for (std::size_t v = 0; v < all.size(); ++v) {
    const Dims dims = t_.types.dims(flat_.body.type(values[v]));
    k.shape.insert(k.shape.end(), dims.begin(), dims.end());
    k.shape.insert(k.shape.end(), all[v].strides.begin(), all[v].strides.end());
  }
  const std::int64_t* at = k.shape.data();
  for (const Access& a : all) {
    const auto rank = static_cast<std::int32_t>(a.strides.size());
    k.views.push_back({nullptr, a.dtype, rank, at, at + rank});
    std::int64_t elements = 1;
    for (std::int64_t extent : std::span(at, static_cast<std::size_t>(rank))) elements *= extent;
    k.work += elements / kBlock;
    at += 2 * rank;
  }
  k.places = places(all);
  const auto own = align_up(static_cast<std::int64_t>(k.kernel.scratch_bytes));
  k.has_epilogue = has_epilogue(step_);
  k.scratch =
      slot(own + static_cast<std::int64_t>(k.views.size() * sizeof(View)), step_, step_ + (k.has_epilogue ? 1 : 0));
  plan_.steps.push_back({StepKind::Kernel, static_cast<std::uint32_t>(plan_.kernels.size())});
  plan_.kernels.push_back(std::move(k));
}

// Which parameters and results may be one memory: a result's memory is first written when the parameter has been read
// for the last time, or by the very step that reads it, element by element.
void Emitter::find_sharing() {
  plan_.param_last_read.assign(plan_.params.size(), 0);
  plan_.result_write.assign(plan_.results.size(), 0);
  std::vector<std::uint32_t> first_value(plan_.results.size(), kNoIndex);  // in the result's memory
  for (std::uint32_t b = 0; b < low_.bases.size(); ++b) {
    const PlanBase& base = low_.bases[spot(b).whole];
    if (base.kind == PlanBase::Kind::Param) plan_.param_last_read[base.index] = uses_.last_read[b];
    if (base.kind != PlanBase::Kind::Result || uses_.writer[b] == 0) continue;
    std::uint32_t& write = plan_.result_write[base.index];
    if (write != 0 && write <= uses_.writer[b]) continue;
    write = uses_.writer[b];
    first_value[base.index] = b;
  }
  for (std::uint32_t r = 0; r < first_value.size(); ++r) {
    const std::uint32_t b = first_value[r];
    if (b == kNoIndex) continue;
    const FuseItem& item = items_[uses_.writer[b] - 1];
    for_each_read(item, [&](std::uint32_t from) {
      const PlanBase& p = low_.bases[from];
      if (p.kind == PlanBase::Kind::Param && uses_.last_read[from] == uses_.writer[b] &&
          p.bytes == low_.bases[b].bytes && updates_in_place({t_, flat_, low_, lookup_}, item, from, b))
        plan_.in_place.emplace_back(p.index, r);
    });
  }
}

void Emitter::note_passed() {
  for (const PassedParam& p : low_.passed)
    plan_.result_copies.push_back({p.param, p.result, plan_.params[p.param].bytes});
}

Status Emitter::run() {
  find_lifetimes();
  find_sharing();
  note_updates({t_, flat_, low_, lookup_}, items_, uses_, memory_, plan_);
  note_passed();
  for (step_ = 0; step_ < items_.size(); ++step_) {
    FuseItem& item = items_[step_];
    const ItemSource& source = low_.sources[item.origins.back()];
    Status s = item.nest ? emit_parts(*std::move(item.nest)) : emit_opaque(source);
    if (!s) {
      Error e = std::move(s).error();
      e.loc = t_.debugs.find_loc(source.origin.debug, source.origin.instr);
      return e;
    }
    plan_.origins.resize(plan_.steps.size(), source.origin);
  }
  return finish();
}

bool Emitter::takes_roots(Addresses bases) const {
  if (bases.begin != 0 || bases.count != plan_.num_roots() - kFirstParam) return false;
  for (std::uint32_t k = 0; k < bases.count; ++k)
    if (plan_.places[k].root != kFirstParam + k || plan_.places[k].offset != 0) return false;
  return true;
}

Status Emitter::finish() {
  const Placement placed = tfvm::place(slots_, static_cast<std::int64_t>(plan_.num_roots() * sizeof(std::byte*)));
  for_each_place(plan_, [&](Address& p) {
    if (p.root < kUnplaced) return;
    p.offset += placed.offsets[p.root - kUnplaced];
    p.root = kFrameRoot;
  });
  plan_.frame_bytes = align_up(placed.total);
  plan_.is_direct = plan_.steps.size() == 1 && plan_.nests.size() == 1 && plan_.nests[0].native &&
                    plan_.result_copies.empty() && takes_roots(plan_.nests[0].bases);
  const auto has_slot = [](const NestStep& s) { return s.native != nullptr; };
  plan_.is_all_nests = plan_.steps.size() == plan_.nests.size() && plan_.result_copies.empty() &&
                       std::ranges::all_of(plan_.nests, has_slot);
  for (const NestStep& s : plan_.nests) plan_.work = std::min(plan_.work + s.work, kMostWork);
  if (pool_bytes_ == 0) return ok();
  plan_.pool = StorageRef::allocate(nullptr, pool_bytes_);
  if (!plan_.pool) return Error(Code::Memory, "the constants of a plan can't be allocated");
  for (std::uint32_t b : pool_bases_) {
    const PlanBase& base = low_.bases[b];
    const bool is_made = base.kind == PlanBase::Kind::Made;
    const std::span<const std::byte> bytes =
        is_made ? std::span<const std::byte>(low_.made[base.index]) : t_.consts[static_cast<ConstId>(base.index)].bytes;
    if (!bytes.empty()) std::memcpy(plan_.pool->data() + pool_at_[b], bytes.data(), bytes.size());
  }
  return ok();
}

}  // namespace tfvm
