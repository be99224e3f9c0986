// The instructions that are one machine instruction or a few, by a table.
#include "jit/x86/body.h"

#include <algorithm>

namespace tfvm::x86 {

namespace {

using Id = aj::InstId;
namespace I = ax::Inst;

struct SimpleRow {
  LaneOp op;
  Id avx2[2], avx512[2];  // for lanes of 4 and of 8 bytes
  std::uint8_t operands;  // of which the last may be in memory
};

constexpr Id kNone = 0;

constexpr SimpleRow kSimple[] = {
    {LaneOp::Add, {I::kIdVaddps, I::kIdVaddpd}, {I::kIdVaddps, I::kIdVaddpd}, 2},
    {LaneOp::Sub, {I::kIdVsubps, I::kIdVsubpd}, {I::kIdVsubps, I::kIdVsubpd}, 2},
    {LaneOp::Max, {I::kIdVmaxps, I::kIdVmaxpd}, {I::kIdVmaxps, I::kIdVmaxpd}, 2},
    {LaneOp::Min, {I::kIdVminps, I::kIdVminpd}, {I::kIdVminps, I::kIdVminpd}, 2},
    {LaneOp::Mul, {I::kIdVmulps, I::kIdVmulpd}, {I::kIdVmulps, I::kIdVmulpd}, 2},
    {LaneOp::Div, {I::kIdVdivps, I::kIdVdivpd}, {I::kIdVdivps, I::kIdVdivpd}, 2},
    {LaneOp::Sqrt, {I::kIdVsqrtps, I::kIdVsqrtpd}, {I::kIdVsqrtps, I::kIdVsqrtpd}, 1},
    {LaneOp::IAdd, {I::kIdVpaddd, I::kIdVpaddq}, {I::kIdVpaddd, I::kIdVpaddq}, 2},
    {LaneOp::ISub, {I::kIdVpsubd, I::kIdVpsubq}, {I::kIdVpsubd, I::kIdVpsubq}, 2},
    {LaneOp::IMul, {I::kIdVpmulld, kNone}, {I::kIdVpmulld, kNone}, 2},
    {LaneOp::MulWide, {kNone, I::kIdVpmuludq}, {kNone, I::kIdVpmuludq}, 2},
    {LaneOp::ShlV, {I::kIdVpsllvd, I::kIdVpsllvq}, {I::kIdVpsllvd, I::kIdVpsllvq}, 2},
    {LaneOp::ShrLV, {I::kIdVpsrlvd, I::kIdVpsrlvq}, {I::kIdVpsrlvd, I::kIdVpsrlvq}, 2},
    {LaneOp::ShrAV, {I::kIdVpsravd, kNone}, {I::kIdVpsravd, kNone}, 2},
    {LaneOp::And, {I::kIdVandps, I::kIdVandpd}, {I::kIdVpandd, I::kIdVpandq}, 2},
    {LaneOp::Or, {I::kIdVorps, I::kIdVorpd}, {I::kIdVpord, I::kIdVporq}, 2},
    {LaneOp::Xor, {I::kIdVxorps, I::kIdVxorpd}, {I::kIdVpxord, I::kIdVpxorq}, 2},
    {LaneOp::IntToFloat, {I::kIdVcvtdq2ps, kNone}, {I::kIdVcvtdq2ps, kNone}, 1},
    {LaneOp::FloatToInt, {I::kIdVcvttps2dq, kNone}, {I::kIdVcvttps2dq, kNone}, 1},
};

bool commutes(LaneOp op) {
  return op == LaneOp::Add || op == LaneOp::Mul || op == LaneOp::IAdd || op == LaneOp::IMul || op == LaneOp::MulWide ||
         op == LaneOp::And || op == LaneOp::Or || op == LaneOp::Xor;
}

// An AVX-512 gather is one instruction for sixteen lanes.
bool has_rows(const Emission& e, Trip trip) {
  return trip == Trip::Whole && !e.is_avx512 && e.registers() - static_cast<int>(e.sums.size()) >= kRowRegisters;
}

}  // namespace

Body::Body(Emission& e, std::vector<LaneId> order, Trip trip)
    : e_(e),
      a_(e.a),
      code_(e.code),
      order_(std::move(order)),
      rows_(has_rows(e, trip) ? find_rows(e.code, e.shape, order_) : Rows()),
      r_(e.a, e.code, e.frame, e.pool, order_, e.is_avx512, e.registers()),
      trip_(trip) {
  std::vector<std::uint8_t> own(code_.size(), 0);
  for (LaneId v : order_) own[v] = 1;
  for (LaneId v = 0; v < e_.home.size(); ++v)
    if (e_.home[v] >= 0 && !own[v]) r_.set_home(v, e_.home[v]);
  if (!order_.empty() && code_[order_.back()].op == LaneOp::Next) r_.begin_trip(e_.carries);
  for (LaneId v : order_)
    if (code_[v].op == LaneOp::Sum) r_.begin_sum(v, e_.sums[code_[v].bits]);
}

void Body::run() {
  for (std::size_t p = 0; p < order_.size(); ++p) {
    const LaneId v = order_[p];
    e_.mark(code_.source_of(v));
    r_.begin(p);
    inst(v);
    if (e_.home[v] >= 0) {  // the preheader
      if (is_mask(code_[v].op) && e_.is_avx512)
        a_.kmovw(e_.at(e_.home[v]), r_.reg(v).as<ax::KReg>());
      else
        a_.vmovups(e_.at(e_.home[v]), r_.reg(v).as<ax::Vec>());
    }
    r_.end();
  }
  e_.mark(0);
}

void Body::inst(LaneId v) {
  if (simple(v)) return;
  if (!rows_.rows.empty() && rows_.row_of[v] != kNoLane) {
    Row& of = rows_.rows[rows_.row_of[v]];
    if (of.size > 0) row(of);
    of.size = 0;
    return;
  }
  switch (code_[v].op) {
    case LaneOp::Const:
    case LaneOp::CallPart:
      return code_[v].op == LaneOp::CallPart ? call_part(v) : void();
    case LaneOp::Load:
      return code_[v].in[1] == kNoLane && code_[v].in[2] == kNoLane ? load(v) : load_picked(v);
    case LaneOp::LoadBool:
      return load_bool(v);
    case LaneOp::LoadHalf:
      return load_half(v);
    case LaneOp::Iota:
      return iota(v);
    case LaneOp::Store:
      return store(v);
    case LaneOp::StoreBool:
      return store_bool(v);
    case LaneOp::StoreHalf:
      return store_half(v);
    case LaneOp::RoundHalf:
      return round_half(v);
    case LaneOp::LoadPlace:
    case LaneOp::StorePlace:
    case LaneOp::RestMask:
      return place(v);
    case LaneOp::Sum:
      return;
    case LaneOp::SetSum:
      return r_.end_sum(code_[v].in[0], e_.sums[code_[v].bits]);
    case LaneOp::Upper:
      return upper(v);
    case LaneOp::Check:
      return check(v);
    case LaneOp::Round: {
      const auto x = r_.any(code_[v].in[0]);
      const ax::Reg to = r_.out(v);
      const bool is4 = code_[v].width == 4;
      const Id id =
          e_.is_avx512 ? (is4 ? I::kIdVrndscaleps : I::kIdVrndscalepd) : (is4 ? I::kIdVroundps : I::kIdVroundpd);
      a_.emit(id, to, x, aj::imm(code_[v].imm));
      return;
    }
    case LaneOp::Fma:
      return fma(v);
    case LaneOp::Shl:
    case LaneOp::ShrL:
    case LaneOp::ShrA:
      return shift(v);
    case LaneOp::Compare:
    case LaneOp::IEq:
    case LaneOp::IGt:
      return compare(v);
    case LaneOp::Select:
      return select(v);
    case LaneOp::Next:
      return r_.carry_on(e_.carries);
    case LaneOp::While:
      return end_of_trips(v);
    case LaneOp::Call:
      return code_.calls()[code_[v].bits].masks.empty() ? call(v) : rare_call(v);
    case LaneOp::MaskAnd:
    case LaneOp::MaskOr:
    case LaneOp::MaskXor:
    case LaneOp::MaskNot:
      return mask_op(v);
    default:
      return convert(v);
  }
}

bool Body::simple(LaneId v) {
  const LaneInst& i = code_[v];
  const auto row = std::ranges::find(kSimple, i.op, &SimpleRow::op);
  if (row == std::end(kSimple)) return false;
  const Id id = (e_.is_avx512 ? row->avx512 : row->avx2)[i.width == 8];
  if (row->operands == 1) {
    const auto x = r_.any(i.in[0]);
    a_.emit(id, r_.out(v), x);
    return true;
  }
  LaneId first = i.in[0], second = i.in[1];
  if (commutes(i.op) && !r_.is_in_register(first) && r_.is_in_register(second)) std::swap(first, second);
  const ax::Reg x = r_.reg(first);
  const auto y = r_.any(second);
  a_.emit(id, r_.out(v), x, y);
  return true;
}

// dst is one of the three operands; the numbers of a form say which are multiplied and added: 213 is dst = src2 * dst +
// src3. src3 may be in memory.
void Body::fma(LaneId v) {
  const LaneInst& i = code_[v];
  const bool is4 = i.width == 4;
  struct Forms {
    Id f132, f213, f231;
  };
  constexpr Forms kForms[4][2] = {{{I::kIdVfmadd132ps, I::kIdVfmadd213ps, I::kIdVfmadd231ps},
                                   {I::kIdVfmadd132pd, I::kIdVfmadd213pd, I::kIdVfmadd231pd}},
                                  {{I::kIdVfnmadd132ps, I::kIdVfnmadd213ps, I::kIdVfnmadd231ps},
                                   {I::kIdVfnmadd132pd, I::kIdVfnmadd213pd, I::kIdVfnmadd231pd}},
                                  {{I::kIdVfmsub132ps, I::kIdVfmsub213ps, I::kIdVfmsub231ps},
                                   {I::kIdVfmsub132pd, I::kIdVfmsub213pd, I::kIdVfmsub231pd}},
                                  {{I::kIdVfnmsub132ps, I::kIdVfnmsub213ps, I::kIdVfnmsub231ps},
                                   {I::kIdVfnmsub132pd, I::kIdVfnmsub213pd, I::kIdVfnmsub231pd}}};
  const Forms& f = kForms[i.imm][is4 ? 0 : 1];
  const LaneId a = i.in[0], b = i.in[1], c = i.in[2];
  const auto can_give = [&](LaneId x) { return r_.is_in_register(x) && r_.is_last_use(x); };
  // The destination, then what stays in a register, then what may be in memory.
  const auto emit = [&](Id id, LaneId to, LaneId middle, LaneId last) {
    if (to == middle || to == last) {  // x * x + c and the like: the destination is also read
      const ax::Reg x = r_.reg(to), y = r_.reg(middle);
      const auto z = r_.any(last);
      const ax::Reg out = r_.out(v, false);
      a_.vmovaps(out.as<ax::Vec>(), x.as<ax::Vec>());
      a_.emit(id, out, y, z);
      return;
    }
    const ax::Reg y = r_.reg(middle);
    const auto z = r_.any(last);
    a_.emit(id, r_.take(v, to), y, z);
  };
  if (can_give(c)) {
    const bool swap = !r_.is_in_register(a) && r_.is_in_register(b);
    return emit(f.f231, c, swap ? b : a, swap ? a : b);
  }
  const LaneId given = can_give(b) && !can_give(a) ? b : a, other = given == a ? b : a;
  // given = given * other + c: with c in a register 132 takes `other` from memory.
  if (r_.is_in_register(c) && !r_.is_in_register(other)) return emit(f.f132, given, c, other);
  emit(f.f213, given, other, c);
}

void Body::shift(LaneId v) {
  const LaneInst& i = code_[v];
  const bool is4 = i.width == 4;
  Id id = is4 ? I::kIdVpslld : I::kIdVpsllq;
  if (i.op == LaneOp::ShrL) id = is4 ? I::kIdVpsrld : I::kIdVpsrlq;
  if (i.op == LaneOp::ShrA) id = I::kIdVpsrad;
  const ax::Reg x = r_.reg(i.in[0]);
  a_.emit(id, r_.out(v), x, aj::imm(i.imm));
}

void Body::compare(LaneId v) {
  const LaneInst& i = code_[v];
  const bool is4 = i.width == 4;
  const ax::Reg x = r_.reg(i.in[0]);
  const auto y = r_.any(i.in[1]);
  const ax::Reg to = r_.out(v);
  if (i.op == LaneOp::Compare) {
    a_.emit(is4 ? I::kIdVcmpps : I::kIdVcmppd, to, x, y, aj::imm(i.imm));
  } else if (i.op == LaneOp::IEq) {
    a_.emit(is4 ? I::kIdVpcmpeqd : I::kIdVpcmpeqq, to, x, y);
  } else {
    a_.emit(is4 ? I::kIdVpcmpgtd : I::kIdVpcmpgtq, to, x, y);
  }
}

void Body::select(LaneId v) {
  const LaneInst& i = code_[v];
  const bool is4 = i.width == 4;
  const ax::Reg m = r_.reg(i.in[0]);
  if (!e_.is_avx512 && code_[i.in[2]].op == LaneOp::Const && code_[i.in[2]].bits == 0) {
    const auto yes = r_.any(i.in[1]);
    a_.emit(I::kIdVandps, r_.out(v), m, yes);
    return;
  }
  const LaneInst& first = code_[i.in[1]];
  if (!e_.is_avx512 && first.op == LaneOp::Const && first.bits == (is4 ? 0xffffffffu : ~std::uint64_t{0})) {
    const auto no = r_.any(i.in[2]);
    a_.emit(I::kIdVorps, r_.out(v), m, no);
    return;
  }
  const ax::Reg no = r_.reg(i.in[2]);
  const auto yes = r_.any(i.in[1]);
  const ax::Reg to = r_.out(v);
  if (e_.is_avx512) {
    a_.k(m.as<ax::KReg>()).emit(is4 ? I::kIdVblendmps : I::kIdVblendmpd, to, no, yes);
  } else {
    a_.emit(is4 ? I::kIdVblendvps : I::kIdVblendvpd, to, no, yes, m);
  }
}

void Body::mask_op(LaneId v) {
  const LaneInst& i = code_[v];
  if (e_.is_avx512) {
    const ax::Reg x = r_.reg(i.in[0]);
    if (i.op == LaneOp::MaskNot) {
      a_.knotw(r_.out(v).as<ax::KReg>(), x.as<ax::KReg>());
      return;
    }
    const ax::Reg y = r_.reg(i.in[1]);
    const Id id = i.op == LaneOp::MaskAnd ? I::kIdKandw : i.op == LaneOp::MaskOr ? I::kIdKorw : I::kIdKxorw;
    a_.emit(id, r_.out(v), x, y);
    return;
  }
  if (i.op == LaneOp::MaskNot) {
    const ax::Reg x = r_.reg(i.in[0]);
    a_.vxorps(r_.out(v).as<ax::Vec>(), x.as<ax::Vec>(), e_.pool.lanes(8, ~std::uint64_t{0}));
    return;
  }
  LaneId first = i.in[0], second = i.in[1];
  if (!r_.is_in_register(first) && r_.is_in_register(second)) std::swap(first, second);
  const ax::Reg x = r_.reg(first);
  const auto y = r_.any(second);
  const Id id = i.op == LaneOp::MaskAnd ? I::kIdVandps : i.op == LaneOp::MaskOr ? I::kIdVorps : I::kIdVxorps;
  a_.emit(id, r_.out(v), x, y);
}

}  // namespace tfvm::x86
