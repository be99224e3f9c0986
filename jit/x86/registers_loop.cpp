// What is carried from one trip of a loop to the next.
#include <algorithm>

#include "jit/x86/registers.h"

namespace tfvm::x86 {

void Registers::begin_trip(std::span<const Carried> carries) {
  for (const Carried& c : carries) {
    if (c.reg < 0) continue;  // at home, as set_home says
    Value& x = values_[c.read];
    x.slot = -1;
    x.is_home = false;
    if (x.next == x.last) continue;
    x.reg = static_cast<std::int8_t>(c.reg);
    vectors_.holds[static_cast<std::size_t>(c.reg)] = c.read;
  }
}

// `next` goes to the place of `read`, which nothing needs any more.
void Registers::move(const Carried& c, const ax::Vec& t, const ax::KReg& mask) {
  const int from = values_[c.next].reg;
  if (c.reg >= 0) {
    if (from < 0)
      load(c.next, c.reg);
    else if (from != c.reg)
      a_.vmovaps(vec(c.reg), vec(from));
  } else if (is_k(c.read)) {
    if (from < 0) a_.kmovw(mask, memory(c.next));
    a_.kmovw(slot(c.home), from < 0 ? mask : ax::k(from));
  } else {
    if (from < 0) a_.vmovups(t, memory(c.next));
    a_.vmovups(slot(c.home), from < 0 ? t : vec(from));
  }
}

// The value leaves a place that is about to be written.
void Registers::step_aside(LaneId v, const ax::Vec& t) {
  Value& x = values_[v];
  const std::int32_t old = x.slot;
  x.slot = frame_.take(code_.reg_bytes());
  x.is_home = false;
  if (x.reg < 0)
    a_.vmovups(t, slot(old));
  else
    file(v).holds[static_cast<std::size_t>(x.reg)] = kNoLane;
  a_.vmovups(slot(x.slot), x.reg < 0 ? t : vec(x.reg));
  x.reg = -1;
}

// All at once: a place is written when nothing waits for what is there; where each waits for another, one steps aside.
void Registers::carry_on(std::span<const Carried> carries) {
  std::vector<Carried> left;
  bool has_masks = false;
  for (const Carried& c : carries) {
    if (c.reg >= 0) vectors_.pinned[static_cast<std::size_t>(c.reg)] = 1;
    if (c.read != c.next) left.push_back(c);
    has_masks = has_masks || is_k(c.read);
  }
  // First, since what they push out must be read from where it stands now.
  const ax::Vec t = left.empty() ? vec(0) : temp();
  const ax::KReg mask = has_masks ? mask_temp() : ax::k1;
  const auto stands_at = [&](LaneId v, const Carried& place) {
    const Value& x = values_[v];
    if (x.reg >= 0) return x.reg == place.reg && !is_k(v);
    return place.reg < 0 && !is_constant(v) && x.slot == place.home;
  };
  const auto waits_for = [&](const Carried& c, const Carried& other) {
    return &other != &c && stands_at(other.next, c);
  };
  while (!left.empty()) {
    const auto ready = std::ranges::find_if(left, [&](const Carried& c) {
      return std::ranges::none_of(left, [&](const Carried& other) { return waits_for(c, other); });
    });
    if (ready != left.end()) {
      move(*ready, t, mask);
      left.erase(ready);
    } else {
      const Carried& c = left.front();
      const auto other = std::ranges::find_if(left, [&](const Carried& o) { return waits_for(c, o); });
      step_aside(other->next, t);
    }
  }
}

void Registers::bring_home(std::span<const Carried> carries) {
  for (const bool is_spilled : {false, true})
    for (const Carried& c : carries) {
      const int at = values_[c.read].reg;
      if (c.reg < 0 || (at < 0) != is_spilled) continue;
      if (is_spilled) a_.vmovups(vec(0), memory(c.read));  // all registers are free by now
      a_.vmovups(slot(c.home), vec(is_spilled ? 0 : at));
    }
}

}  // namespace tfvm::x86
