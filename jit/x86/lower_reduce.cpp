// Lane code of reductions: what each line of the function computes.
#include <algorithm>

#include "jit/region/reduce.h"
#include "jit/x86/reduce_emitter.h"

namespace tfvm::x86 {

namespace {

constexpr int kLevels = 32;
constexpr std::uint32_t kNoCarry = 0xffffffffu;  // carried in memory
constexpr std::int8_t kRcx = 1, kRdi = 7, kR12 = 12;

std::uint8_t log2_of(int width) { return width == 8 ? 3 : 2; }

}  // namespace

template <class Fn>
ReduceEmitter::Line ReduceEmitter::line(Fn fn) {
  code_.start_section();
  const auto first = static_cast<LaneId>(code_.size());
  fn();
  return {first, static_cast<LaneId>(code_.size())};
}

// take(low, is_main); main_ leaves out sums that have a twin.
template <class Fn>
void ReduceEmitter::lower_main(Fn take) {
  low_.use(packed_);
  main_ = line([&] {
    low_.run();
    take(low_, true);
  });
  has_exact_ = low_.has_checks();
  const auto other = [&](Lowering::Zeros zeros) {
    return line([&] {
      Lowering low(shape_, code_, zeros);
      low.use(packed_);
      low.run();
      take(low, false);
      has_exact_ = has_exact_ || low.has_checks();
    });
  };
  if (asks_at_end_ || !low_.sums_to_ask().empty()) {
    asks_at_end_ = true;
    checked_ = other(Lowering::Zeros::Checked);
  }
  if (has_exact_) exact_ = other(Lowering::Zeros::Exact);
}

// The record of a sum.
Lanes ReduceEmitter::at(const Sum& s, Place record) {
  code_.source = s.source;
  Lanes v;
  v.dtype = s.dtype;
  for (int k = 0; k < s.parts; ++k) v.parts.push_back(code_.load(s.width, record + (s.record + k * code_.reg_bytes())));
  return v;
}

void ReduceEmitter::put(const Sum& s, const Lanes& lanes, Place record) {
  code_.source = s.source;
  for (int k = 0; k < s.parts; ++k)
    code_.store(s.width, lanes.parts[static_cast<std::size_t>(k)], record + (s.record + k * code_.reg_bytes()));
}

Lanes ReduceEmitter::carried(const Sum& s, int count) {
  code_.source = s.source;
  Lanes v;
  v.dtype = s.dtype;
  for (int k = 0; k < count; ++k) v.parts.push_back(code_.sum(s.width, s.carry + static_cast<std::uint32_t>(k)));
  return v;
}

Lanes ReduceEmitter::neutral(const Sum& s, int count) {
  code_.source = s.source;
  Lanes v;
  v.dtype = s.dtype;
  v.parts.assign(static_cast<std::size_t>(count), code_.constant(s.width, s.neutral));
  return v;
}

void ReduceEmitter::set_carries(const Sum& s, const Lanes& v, int trips) {
  code_.source = s.source;
  for (std::size_t k = 0; k < v.parts.size(); ++k) code_.set_sum(s.width, s.carry + k, v.parts[k], trips);
}

ReduceEmitter::Tree ReduceEmitter::tree(std::int32_t value) {
  Tree t;
  t.value = value;
  t.levels = e_.frame.take(kLevels * record_);
  t.occupied = e_.frame.take(8);
  const Place level{t.levels, kRcx, 0};
  t.combine = line([&] {
    for (const Sum& s : sums_) put(s, low_.combine(s.op, at(s, level), at(s, {value})), {value});
  });
  t.keep = line([&] {
    for (const Sum& s : sums_) put(s, at(s, {value}), level);
  });
  return t;
}

// From a record to the results.
ReduceEmitter::Line ReduceEmitter::results(std::int32_t value) {
  return line([&] {
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      const ShapeReduction& r = shape_.reductions[k];
      Lanes v = at(sums_[k], {value});
      if (shape_.nodes[r.node].dtype == DType::Bool)
        for (LaneId& p : v.parts) p = code_.op(LaneOp::IGt, 4, p, code_.constant(4, 0));
      low_.store({r.node, r.access, r.displacement}, v.parts);
    }
  });
}

void ReduceEmitter::lower() {
  for (const ShapeReduction& r : shape_.reductions) {
    Sum s;
    const DType d = shape_.nodes[r.node].dtype;
    s.dtype = combined_as(d);
    s.op = combining(r.op);
    s.source = r.source.index;
    s.neutral = x86::neutral(r.op, d);
    s.width = static_cast<int>(size_of(s.dtype));
    s.parts = shape_.schedule == Schedule::Across ? code_.parts(s.width) : 1;
    s.record = record_;
    record_ += s.parts * code_.reg_bytes();
    sums_.push_back(s);
  }
  shape_.schedule == Schedule::Across ? lower_across() : lower_along();
}

void ReduceEmitter::lower_across() {
  const std::int32_t value = e_.frame.take(record_);
  const int most = e_.is_avx512 ? 12 : 4, last = e_.is_avx512 ? 31 : 15;
  for (Sum& s : sums_) {
    const bool fits = static_cast<int>(e_.sums.size()) + s.parts <= most;
    s.carry = fits ? static_cast<std::uint32_t>(e_.sums.size()) : kNoCarry;
    for (int k = 0; fits && k < s.parts; ++k) e_.sums.push_back(last - static_cast<int>(e_.sums.size()));
  }
  if (shape_.may_repeat) {
    low_.ask_sums_at_end();
    twins_ = find_twins(shape_);
    asks_at_end_ = std::ranges::any_of(twins_, [](const Twin& t) { return t.of != kNoTwin; });
  }
  const auto get = [&](const Sum& s) { return s.carry == kNoCarry ? at(s, {value}) : carried(s, s.parts); };
  const auto set = [&](const Sum& s, const Lanes& v) { s.carry == kNoCarry ? put(s, v, {value}) : set_carries(s, v); };
  lower_main([&](Lowering& low, bool is_main) {
    for (std::size_t k = 0; k < sums_.size(); ++k)
      if (!is_main || !has_twin(k))
        set(sums_[k], low.combine(sums_[k].op, get(sums_[k]), low.combined(shape_.reductions[k].node)));
  });
  clear_ = line([&] {
    for (const Sum& s : sums_) set(s, neutral(s, s.parts));
  });
  dump_ = line([&] {
    for (const Sum& s : sums_)
      if (s.carry != kNoCarry) put(s, carried(s, s.parts), {value});
  });
  groups_ = tree(value);
  lower_check(value);
  results_ = results(value);
}

bool ReduceEmitter::is_twin_of(std::size_t sum) const {
  return std::ranges::any_of(twins_, [&](const Twin& t) { return t.of == sum; });
}

// Of the sums at the end of a trip: that none is NaN, and those that are taken for others not zero. Then the others.
void ReduceEmitter::lower_check(std::int32_t value) {
  check_ = line([&] {
    for (int width : {4, 8}) {
      std::vector<LaneId> parts, masks;
      for (std::uint32_t k : low_.sums_to_ask())
        for (LaneId p : sums_[k].width == width && !has_twin(k) && !is_twin_of(k) ? at(sums_[k], {value}).parts
                                                                                  : std::vector<LaneId>())
          parts.push_back(p);
      low_.find_nan(width, parts, masks);
      for (std::size_t k = 0; k < sums_.size(); ++k)
        for (LaneId p : sums_[k].width == width && is_twin_of(k) ? at(sums_[k], {value}).parts : std::vector<LaneId>())
          masks.push_back(code_.op(LaneOp::Compare, width, p, code_.constant(width, 0), kNoLane, 0x08));  // =, or NaN
      if (!masks.empty()) low_.check(width, masks);
    }
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      if (!has_twin(k)) continue;
      Lanes v = at(sums_[twins_[k].of], {value});
      const std::uint64_t sign = sums_[k].width == 4 ? 0x80000000u : std::uint64_t{1} << 63;
      for (LaneId& p : v.parts)
        if (twins_[k].is_negative) p = code_.op(LaneOp::Xor, sums_[k].width, p, code_.constant(sums_[k].width, sign));
      put(sums_[k], v, {value});
    }
  });
}

// The lanes of a row, in halves.
Lanes ReduceEmitter::folded(const Sum& s, Lanes v) {
  const auto half = [&](std::size_t from, std::size_t count) {
    Lanes h;
    h.dtype = v.dtype;
    h.parts.assign(v.parts.begin() + static_cast<std::ptrdiff_t>(from),
                   v.parts.begin() + static_cast<std::ptrdiff_t>(from + count));
    return h;
  };
  while (v.parts.size() > 1) {
    const std::size_t n = v.parts.size() / 2;
    v = low_.combine(s.op, half(0, n), half(n, n));
  }
  for (int w = code_.reg_bytes() / s.width / 2; w > 0; w /= 2) {
    Lanes upper = v;
    upper.parts[0] = code_.op(LaneOp::Upper, s.width, v.parts[0], kNoLane, kNoLane, w);
    v = low_.combine(s.op, v, upper);
  }
  return v;
}

// A block in the buffer becomes the lanes of a row, which are carried meanwhile.
void ReduceEmitter::lower_sum(Sum& s) {
  const int n = row_registers(s);
  const Place buffer{s.buffer, kRcx, 0};
  s.clear = line([&] { set_carries(s, neutral(s, n)); });
  s.take = line([&] {
    Lanes v;
    v.dtype = s.dtype;
    for (int k = 0; k < n; ++k) v.parts.push_back(code_.load(s.width, buffer + k * code_.reg_bytes()));
    set_carries(s, low_.combine(s.op, carried(s, n), v));
  });
  s.fold = line([&] { put(s, folded(s, carried(s, n)), {blocks_.value}); });
  s.pad = line([&] {
    for (int k = 0; k < n; ++k)
      code_.store(s.width, code_.constant(s.width, s.neutral),
                  Place{s.buffer + k * code_.reg_bytes(), kRdi, log2_of(s.width)});
  });
}

// Strided elements that every round of the outer loops of a row takes again, behind each other.
void ReduceEmitter::lower_packing() {
  packing_ = line([&] {
    for (const NestNode& n : shape_.nodes) {
      if (n.kind != NestNodeKind::Load || !shape_.accesses[n.access].is_packed) continue;
      const int width = static_cast<int>(size_of(n.dtype));
      const std::int32_t bytes = 512 * width + code_.parts(width) * code_.reg_bytes();
      const auto [it, is_new] = packed_.try_emplace({n.access, n.bits});
      if (!is_new || packed_.size() > 8) {
        if (is_new) packed_.erase(it);
        continue;
      }
      it->second = {e_.frame.take(bytes), kR12, log2_of(width)};
      for (int k = 0; k < code_.parts(width); ++k) {
        LaneInst load;
        load.op = LaneOp::Load;
        load.width = static_cast<std::uint8_t>(width);
        load.imm = static_cast<std::uint8_t>(k);
        load.in[0] = n.access;
        load.bits = n.bits;
        code_.store(width, code_.add(load), it->second + k * code_.reg_bytes());
      }
    }
  });
}

void ReduceEmitter::lower_along() {
  lower_packing();
  const bool is_direct = shape_.is_direct;
  std::uint32_t carries = 0, most = 0;
  for (Sum& s : sums_) {
    const auto n = static_cast<std::uint32_t>(row_registers(s));
    s.carry = is_direct ? carries : 0;
    carries += n;
    most = std::max(most, is_direct ? carries : n);
    if (!is_direct)
      s.buffer = e_.frame.take(static_cast<int>(kRowBlock) * s.width + 2 * code_.lanes() * s.width + 32 * s.width);
  }
  for (std::uint32_t k = 0; k < most; ++k) e_.sums.push_back((e_.is_avx512 ? 31 : 15) - static_cast<int>(k));
  lower_main([&](Lowering& low, bool) {
    for (std::size_t r = 0; r < sums_.size(); ++r) {
      const Sum& s = sums_[r];
      const Lanes v = low.combined(shape_.reductions[r].node);
      for (std::size_t k = 0; !is_direct && k < v.parts.size(); ++k)
        code_.store(s.width, v.parts[k],
                    Place{s.buffer + static_cast<int>(k) * code_.reg_bytes(), kRdi, log2_of(s.width)});
      if (!is_direct) continue;
      const Lanes sum = carried(s, row_registers(s));
      Lanes rest = v;
      for (std::size_t k = 0; k < v.parts.size(); ++k) {
        const LaneId mask = code_.op(LaneOp::RestMask, s.width, kNoLane, kNoLane, kNoLane, static_cast<int>(k));
        rest.parts[k] = code_.op(LaneOp::Select, s.width, mask, v.parts[k], code_.constant(s.width, s.neutral));
      }
      set_carries(s, low.combine(s.op, sum, v), 1);
      set_carries(s, low.combine(s.op, sum, rest), 2);
    }
  });
  const std::int32_t value = e_.frame.take(record_);
  blocks_ = tree(value);
  clear_ = line([&] {
    for (const Sum& s : sums_) set_carries(s, neutral(s, row_registers(s)));
  });
  dump_ = line([&] {
    for (const Sum& s : sums_) put(s, folded(s, carried(s, row_registers(s))), {value});
  });
  for (Sum& s : sums_)
    if (!is_direct) lower_sum(s);
  results_ = results(value);
  if (!is_direct)
    overflow_ = line([&] {
      for (const Sum& s : sums_)
        for (int k = 0; k < code_.parts(s.width); ++k) {
          const std::int32_t at = s.buffer + k * code_.reg_bytes();
          code_.store(s.width, code_.load(s.width, {at + static_cast<int>(kRowBlock) * s.width}), {at});
        }
    });
  if (shape_.rows == 0) return;
  groups_ = tree(e_.frame.take(record_));
  take_row_ = line([&] {
    for (const Sum& s : sums_) put(s, low_.combine(s.op, at(s, {groups_.value}), at(s, {value})), {groups_.value});
  });
  clear_group_ = line([&] {
    for (const Sum& s : sums_) put(s, neutral(s, 1), {groups_.value});
  });
  results_ = results(groups_.value);
}

}  // namespace tfvm::x86
