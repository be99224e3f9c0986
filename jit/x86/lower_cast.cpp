// Conversions. Those without a row here are called.
#include <bit>

#include "jit/x86/halves.h"
#include "jit/x86/lower.h"

namespace tfvm::x86 {

namespace {

using Parts = std::vector<LaneId>;

struct Caster {
  LaneCode& c;

  LaneId number(double v) const { return c.constant(8, std::bit_cast<std::uint64_t>(v)); }
  LaneId halves(LaneOp op, const Parts& p, int k) const {
    return c.op(op, 8, p[static_cast<std::size_t>(k / 2)], kNoLane, kNoLane, k % 2);
  }
  // From 4-byte to 8-byte lanes.
  Parts widen(LaneOp op, const Parts& p) const {
    Parts out;
    for (int k = 0; k < c.parts(8); ++k) out.push_back(halves(op, p, k));
    return out;
  }
  Parts narrow(LaneOp op, const Parts& p) const {
    Parts out;
    for (std::size_t k = 0; k < p.size(); k += 2)
      out.push_back(c.op(op, 4, p[k], k + 1 < p.size() ? p[k + 1] : kNoLane));
    return out;
  }
  // x where it is between the bounds; of NaN 0.
  LaneId bounded(LaneId x, double least, double most) const {
    const LaneId above = c.op(LaneOp::Compare, 8, x, number(most), kNoLane, 0x1e);
    const LaneId below = c.op(LaneOp::Compare, 8, x, number(least), kNoLane, 0x11);
    const LaneId nan = c.op(LaneOp::Compare, 8, x, x, kNoLane, 0x03);
    const LaneId y = c.op(LaneOp::Select, 8, above, number(most), c.op(LaneOp::Select, 8, below, number(least), x));
    return c.op(LaneOp::Select, 8, nan, number(0), y);
  }
  // Truncates; outside of 2^31 and of NaN the instruction gives the least integer.
  LaneId float_to_int(LaneId x) const {
    const auto f = [&](float v) { return c.constant(4, std::bit_cast<std::uint32_t>(v)); };
    const LaneId above = c.op(LaneOp::Compare, 4, x, f(0x1p31f), kNoLane, 0x1d);
    const LaneId nan = c.op(LaneOp::Compare, 4, x, x, kNoLane, 0x03);
    const LaneId y = c.op(LaneOp::Select, 4, above, c.constant(4, 0x7fffffff), c.op(LaneOp::FloatToInt, 4, x));
    return c.op(LaneOp::Select, 4, nan, c.constant(4, 0), y);
  }
  // The halves as exact doubles, of which the sum is rounded once: the low one on 2^52, the high one on 2^84 + 2^63.
  LaneId long_to_double(LaneId v) const {
    const LaneId low =
        c.op(LaneOp::Or, 8, c.op(LaneOp::And, 8, v, c.constant(8, 0xffffffffu)), c.constant(8, 0x4330000000000000u));
    const LaneId high =
        c.op(LaneOp::Xor, 8, c.op(LaneOp::ShrL, 8, v, kNoLane, kNoLane, 32), c.constant(8, 0x4530000080000000u));
    const LaneId part = c.op(LaneOp::Sub, 8, high, c.constant(8, 0x4530000080100000u));
    return c.op(LaneOp::Add, 8, part, low);
  }
  // For |x| < 2^51; the other lanes are noted.
  LaneId double_to_long(LaneId x) const {
    const LaneId whole = c.op(LaneOp::Round, 8, x, kNoLane, kNoLane, 11);
    const LaneId size = c.op(LaneOp::And, 8, whole, c.constant(8, ~(std::uint64_t{1} << 63)));
    c.rare.push_back(c.op(LaneOp::Compare, 8, size, number(0x1p51), kNoLane, 0x15));
    const LaneId moved = c.op(LaneOp::Add, 8, whole, number(0x1.8p52));
    return c.op(LaneOp::ISub, 8, moved, number(0x1.8p52));
  }
  // Through a double, exact below 2^53; the other lanes are noted.
  Parts long_to_float(const Parts& p) const {
    Parts doubles;
    for (LaneId v : p) {
      c.rare.push_back(c.op(LaneOp::IGt, 8, v, c.constant(8, std::uint64_t{1} << 53)));
      c.rare.push_back(c.op(LaneOp::IGt, 8, c.constant(8, ~(std::uint64_t{1} << 53) + 1), v));
      doubles.push_back(long_to_double(v));
    }
    return narrow(LaneOp::DoubleToFloat, doubles);
  }
  template <class Fn>
  Parts each(const Parts& p, Fn fn) const {
    Parts out;
    for (LaneId v : p) out.push_back(fn(v));
    return out;
  }

  // Empty: no row.
  Parts convert(DType from, DType to, const Parts& p) const {
    const bool long_to = to == DType::I64 || to == DType::U64, int_to = to == DType::I32 || to == DType::U32;
    switch (from) {
      case DType::F32:
        if (to == DType::F64) return widen(LaneOp::FloatToDouble, p);
        if (to == DType::I32) return each(p, [&](LaneId x) { return float_to_int(x); });
        if (to == DType::I64) return each(widen(LaneOp::FloatToDouble, p), [&](LaneId x) { return double_to_long(x); });
        return {};
      case DType::F64:
        if (to == DType::F32) return narrow(LaneOp::DoubleToFloat, p);
        if (to == DType::I32)
          return narrow(LaneOp::DoubleToInt, each(p, [&](LaneId x) { return bounded(x, -0x1p31, 0x1p31 - 1); }));
        if (to == DType::I64) return each(p, [&](LaneId x) { return double_to_long(x); });
        return {};
      case DType::I32:
        if (to == DType::F32) return each(p, [&](LaneId x) { return c.op(LaneOp::IntToFloat, 4, x); });
        if (to == DType::F64) return widen(LaneOp::IntToDouble, p);
        if (long_to) return widen(LaneOp::IntToLong, p);
        return int_to ? p : Parts{};
      case DType::U32:
        if (long_to)
          return each(widen(LaneOp::IntToLong, p),
                      [&](LaneId x) { return c.op(LaneOp::And, 8, x, c.constant(8, 0xffffffffu)); });
        return int_to ? p : Parts{};
      case DType::I64:
        if (to == DType::F64) return each(p, [&](LaneId x) { return long_to_double(x); });
        if (to == DType::F32) return long_to_float(p);
        [[fallthrough]];
      case DType::U64:
        if (int_to) return narrow(LaneOp::LongToInt, p);
        return long_to ? p : Parts{};
      default:
        return {};
    }
  }
};

std::uint64_t one(DType d) {
  if (d == DType::F32) return std::bit_cast<std::uint32_t>(1.0f);
  return d == DType::F64 ? std::bit_cast<std::uint64_t>(1.0) : 1;
}

void from_bool(Lowering& low, const NestNode& n, Lanes& out) {
  LaneCode& c = low.code();
  const int w = static_cast<int>(size_of(n.dtype));
  for (LaneId m : low.masks(n.in[0], w))
    out.parts.push_back(c.op(LaneOp::Select, w, m, c.constant(w, one(n.dtype)), c.constant(w, 0)));
}

void to_bool(Lowering& low, const NestNode& n, Lanes& out) {
  LaneCode& c = low.code();
  const DType d = low.dtype(n.in[0]);
  const int w = static_cast<int>(size_of(d));
  for (LaneId x : low.value(n.in[0]).parts) {
    const LaneId m = is_float_lane(d) ? c.op(LaneOp::Compare, w, x, c.constant(w, 0), kNoLane, 0x04)
                                      : c.op(LaneOp::MaskNot, w, c.op(LaneOp::IEq, w, x, c.constant(w, 0)));
    (w == 4 ? out.parts : out.parts8).push_back(m);
  }
}

bool cast_row(Lowering& low, const NestNode& n, Lanes& out) {
  const DType from = low.dtype(n.in[0]);
  if (n.bits != 0) {
    out.parts = low.rounded(low.value(n.in[0]).parts, n.bits == rounds_to(DType::F16) ? DType::F16 : DType::BF16);
  } else if (from == n.dtype) {
    out = low.value(n.in[0]);
  } else if (from == DType::Bool) {
    from_bool(low, n, out);
  } else if (n.dtype == DType::Bool) {
    to_bool(low, n, out);
  } else if (const std::vector<LaneId> small = low.narrow(n.in[0]); !small.empty()) {
    return low.cast(DType::I32, n.dtype, small, out);
  } else {
    return low.cast(from, n.dtype, low.value(n.in[0]).parts, out);
  }
  return true;
}

bool bitcast_row(Lowering& low, const NestNode& n, Lanes& out) {
  const DType from = low.dtype(n.in[0]);
  if (size_of(from) != size_of(n.dtype)) return false;
  out = low.value(n.in[0]);
  out.dtype = n.dtype;
  return true;
}

constexpr LowerRow kRows[] = {{Op::cast, &cast_row}, {Op::bitcast, &bitcast_row}};

}  // namespace

bool Lowering::cast(DType from, DType to, const std::vector<LaneId>& parts, Lanes& out) {
  if (from == to) {
    out.parts = parts;
    return true;
  }
  code_.rare.clear();
  Parts usual = Caster{code_}.convert(from, to, parts);
  if (usual.empty()) return false;
  if (code_.rare.empty()) {
    out.parts = std::move(usual);
    return true;
  }
  LaneCall call;
  call.fn = find_cast(from, to);
  call.out = to;
  call.dtypes = {from};
  call.in = {parts};
  call.masks = std::move(code_.rare);
  call.usual = std::move(usual);
  code_.rare.clear();
  out.parts = code_.call(std::move(call));
  return true;
}

// bf16 as math::f32_to_bf16 has it: to nearest even by adding just less than half of the last bit, or just half.
std::vector<LaneId> Lowering::rounded(const std::vector<LaneId>& parts, DType to) {
  std::vector<LaneId> out;
  for (LaneId x : parts) {
    if (to == DType::F16) {
      out.push_back(code_.op(LaneOp::RoundHalf, 4, x));
      continue;
    }
    const LaneId last =
        code_.op(LaneOp::And, 4, code_.op(LaneOp::ShrL, 4, x, kNoLane, kNoLane, 16), code_.constant(4, 1));
    const LaneId near = code_.op(LaneOp::IAdd, 4, code_.op(LaneOp::IAdd, 4, x, code_.constant(4, 0x7fff)), last);
    const LaneId quiet = code_.op(LaneOp::Or, 4, x, code_.constant(4, 0x400000));
    const LaneId nan = code_.op(LaneOp::Compare, 4, x, x, kNoLane, 0x03);
    const LaneId bits = code_.op(LaneOp::Select, 4, nan, quiet, near);
    out.push_back(code_.op(LaneOp::And, 4, bits, code_.constant(4, 0xffff0000u)));
  }
  return out;
}

LowerFn find_cast_row(Op op) { return find_lower_row(kRows, op); }

}  // namespace tfvm::x86
