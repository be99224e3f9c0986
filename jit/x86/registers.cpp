#include "jit/x86/registers.h"

#include <algorithm>

namespace tfvm::x86 {

namespace {
constexpr std::uint32_t kNever = 0xffffffffu;
}

Registers::Registers(ax::Assembler& a, const LaneCode& code, Frame& frame, Pool& pool, std::vector<LaneId> order,
                     bool has_mask_registers, int vectors)
    : a_(a),
      code_(code),
      frame_(frame),
      pool_(pool),
      masks_apart_(has_mask_registers),
      order_(std::move(order)),
      values_(code.size()) {
  vectors_.holds.assign(has_mask_registers ? 32 : 16, kNoLane);
  vectors_.pinned.assign(vectors_.holds.size(), 0);
  vectors_.locked = vectors_.pinned;
  std::fill(vectors_.locked.begin() + vectors, vectors_.locked.end(), std::uint8_t{1});
  masks_.holds.assign(8, kNoLane);
  masks_.pinned.assign(8, 0);
  masks_.locked = masks_.pinned;
  masks_.first = 1;  // k0 as a predicate means none
  std::vector<std::uint32_t> seen(code.size(), kNever);
  const auto for_uses = [&](auto fn) {
    std::ranges::fill(seen, kNever);
    for (std::uint32_t p = 0; p < order_.size(); ++p)
      code_.for_operands(order_[p], [&](LaneId v) {
        if (seen[v] != p) fn(v, p);
        seen[v] = p;
      });
  };
  for_uses([&](LaneId v, std::uint32_t) { ++values_[v].last; });
  std::uint32_t at = 0;
  for (Value& v : values_) {
    v.next = at;
    at += v.last;
    v.last = v.next;
  }
  uses_.resize(at);
  for_uses([&](LaneId v, std::uint32_t p) { uses_[values_[v].last++] = p; });
}

std::uint32_t Registers::next_use(LaneId v) const {
  const Value& x = values_[v];
  return x.next < x.last ? uses_[x.next] : kNever;
}

bool Registers::is_last_use(LaneId v) const {
  const Value& x = values_[v];
  return x.next + 1 >= x.last;
}

void Registers::begin(std::size_t position) { position_ = static_cast<std::uint32_t>(position); }

void Registers::end() {
  const auto release = [&](LaneId v) {
    Value& x = values_[v];
    if (x.next < x.last) return;
    if (x.reg >= 0) file(v).holds[static_cast<std::size_t>(x.reg)] = kNoLane;
    x.reg = -1;
    if (x.slot >= 0 && !x.is_home && !is_constant(v)) free_slots_.push_back(x.slot), x.slot = -1;
  };
  code_.for_operands(order_[position_], [&](LaneId v) {
    Value& x = values_[v];
    if (x.next < x.last && uses_[x.next] == position_) ++x.next;
  });
  code_.for_operands(order_[position_], release);
  if (values_[order_[position_]].reg >= 0) release(order_[position_]);  // a result for the frame only
  std::ranges::fill(vectors_.pinned, std::uint8_t{0});
  std::ranges::fill(masks_.pinned, std::uint8_t{0});
}

ax::Mem Registers::memory(LaneId v) {
  if (is_constant(v)) return pool_.lanes(code_[v].width, code_[v].bits);
  return slot(values_[v].slot);
}

void Registers::evict(LaneId v) {
  Value& x = values_[v];
  if (x.slot < 0 && !is_constant(v)) {
    if (free_slots_.empty()) {
      x.slot = frame_.take(code_.reg_bytes());
    } else {
      x.slot = free_slots_.back();
      free_slots_.pop_back();
    }
    if (is_k(v))
      a_.kmovw(slot(x.slot), ax::k(x.reg));
    else
      a_.vmovups(slot(x.slot), vec(x.reg));
  }
  file(v).holds[static_cast<std::size_t>(x.reg)] = kNoLane;
  x.reg = -1;
}

// A free register, made free where there is none by the value that is not needed for longest.
int Registers::free_register(File& f) {
  int best = -1;
  std::uint32_t furthest = 0;
  for (int r = f.first; r < static_cast<int>(f.holds.size()); ++r) {
    const auto k = static_cast<std::size_t>(r);
    if (f.pinned[k] || f.locked[k]) continue;
    if (f.holds[k] == kNoLane) return r;
    const std::uint32_t use = next_use(f.holds[k]);
    if (best < 0 || use > furthest) {
      best = r;
      furthest = use;
    }
  }
  if (best < 0) {
    a_.reportError(aj::kErrorInvalidState, "no register is left for a value");
    return f.first;
  }
  evict(f.holds[static_cast<std::size_t>(best)]);
  return best;
}

int Registers::pick(LaneId v) {
  File& f = file(v);
  const int r = free_register(f);
  f.holds[static_cast<std::size_t>(r)] = v;
  f.pinned[static_cast<std::size_t>(r)] = 1;
  values_[v].reg = static_cast<std::int8_t>(r);
  return r;
}

void Registers::load(LaneId v, int id) {
  if (is_k(v))
    a_.kmovw(ax::k(id), memory(v));
  else
    a_.vmovups(vec(id), memory(v));
}

ax::Reg Registers::reg(LaneId v) {
  Value& x = values_[v];
  if (x.reg < 0) load(v, pick(v));
  file(v).pinned[static_cast<std::size_t>(x.reg)] = 1;
  return name(v, x.reg);
}

aj::Operand Registers::any(LaneId v) {
  Value& x = values_[v];
  if (x.reg < 0) {
    // Worth a register only where one is free and the value is needed again.
    const bool again = !is_last_use(v);
    if (!again || !has_free_vector()) return memory(v);
  }
  return reg(v);
}

aj::Operand Registers::where(LaneId v) {
  if (values_[v].reg < 0) return memory(v);
  return reg(v);
}

ax::Mem Registers::in_memory(LaneId v) {
  if (values_[v].reg >= 0) evict(v);
  return memory(v);
}

void Registers::unpin(const ax::Reg& reg) { (reg.isVec() ? vectors_ : masks_).pinned[reg.id()] = 0; }

int Registers::available() const { return static_cast<int>(std::ranges::count(vectors_.locked, std::uint8_t{0})); }

bool Registers::has_free_vector() const {
  for (std::size_t r = 0; r < vectors_.holds.size(); ++r)
    if (vectors_.holds[r] == kNoLane && !vectors_.locked[r] && !vectors_.pinned[r]) return true;
  return false;
}

void Registers::flush() {
  for (File* f : {&vectors_, &masks_})
    for (LaneId v : f->holds)
      if (v != kNoLane && next_use(v) != kNever) evict(v);
}

ax::Reg Registers::out(LaneId v, bool over) {
  File& f = file(v);
  if (over) {
    int dying = -1;
    code_.for_operands(order_[position_], [&](LaneId in) {
      if (dying < 0 && values_[in].reg >= 0 && &file(in) == &f && is_last_use(in)) dying = static_cast<int>(in);
    });
    if (dying >= 0) {
      Value& x = values_[static_cast<LaneId>(dying)];
      values_[v].reg = x.reg;
      f.holds[static_cast<std::size_t>(x.reg)] = v;
      f.pinned[static_cast<std::size_t>(x.reg)] = 1;
      x.reg = -1;
      return name(v, values_[v].reg);
    }
  }
  return name(v, pick(v));
}

ax::Reg Registers::take(LaneId v, LaneId operand, bool copies) {
  const ax::Reg from = reg(operand);
  if (is_last_use(operand) && !copies) {
    Value& x = values_[operand];
    values_[v].reg = x.reg;
    vectors_.holds[static_cast<std::size_t>(x.reg)] = v;
    x.reg = -1;
    return from;
  }
  const ax::Reg to = name(v, pick(v));
  a_.vmovaps(to.as<ax::Vec>(), from.as<ax::Vec>());
  return to;
}

void Registers::begin_sum(LaneId v, int id) {
  values_[v].reg = static_cast<std::int8_t>(id);
  vectors_.holds[static_cast<std::size_t>(id)] = v;
  vectors_.locked[static_cast<std::size_t>(id)] = 1;
  sums_.emplace_back(v, id);
}

void Registers::restore_sums() {
  for (const auto& [v, id] : sums_) {
    Value& x = values_[v];
    if (x.reg >= 0 || x.slot < 0) continue;
    a_.vmovups(vec(id), slot(x.slot));
    x.reg = static_cast<std::int8_t>(id);
    vectors_.holds[static_cast<std::size_t>(id)] = v;
  }
}

void Registers::end_sum(LaneId v, int id) {
  const auto at = static_cast<std::size_t>(id);
  const LaneId now = vectors_.holds[at];
  if (now != v && now != kNoLane) {
    if (next_use(now) != kNever)
      evict(now);
    else
      values_[now].reg = -1;
  }
  if (now != v && values_[v].reg >= 0)
    a_.vmovaps(vec(id), vec(values_[v].reg));
  else if (now != v)
    a_.vmovups(vec(id), memory(v));
  vectors_.locked[at] = 1;
}

ax::Vec Registers::temp() {
  const int r = free_register(vectors_);
  vectors_.pinned[static_cast<std::size_t>(r)] = 1;
  return vec(r);
}

ax::KReg Registers::mask_temp() {
  const int r = free_register(masks_);
  masks_.pinned[static_cast<std::size_t>(r)] = 1;
  return ax::k(r);
}

std::uint64_t Registers::live() const {
  std::uint64_t bits = 0;
  for (std::size_t r = 0; r < vectors_.holds.size(); ++r) bits |= std::uint64_t{vectors_.holds[r] != kNoLane} << r;
  for (std::size_t r = 0; r < masks_.holds.size(); ++r) bits |= std::uint64_t{masks_.holds[r] != kNoLane} << (32 + r);
  return bits;
}

}  // namespace tfvm::x86
