// Places in the frame, lanes moved down, and ways out of a line.
#include "jit/x86/body.h"

namespace tfvm::x86 {

void Body::place(LaneId v) {
  const LaneInst& i = code_[v];
  if (i.op == LaneOp::RestMask) {
    const ax::Reg to = r_.out(v);
    const ax::Mem mask = rest_mask(i.width, i.imm);
    e_.is_avx512 ? a_.kmovw(to.as<ax::KReg>(), mask) : a_.vmovups(to.as<ax::Vec>(), mask);
    return;
  }
  const Place p = Place::of(i.bits);
  const ax::Mem m =
      p.gp < 0 ? e_.at(p.offset) : ax::ptr(ax::rsp, ax::gpq(static_cast<std::uint32_t>(p.gp)), p.scale, p.offset);
  if (i.op == LaneOp::LoadPlace) {
    a_.vmovups(r_.out(v).as<ax::Vec>(), m);
  } else {
    const ax::Reg value = r_.reg(i.in[0]);
    a_.vmovups(m, value.as<ax::Vec>());
  }
}

void Body::bits_of(const ax::Gp& to, const ax::Reg& mask, int width) {
  namespace I = ax::Inst;
  a_.emit(e_.is_avx512 ? I::kIdKmovw : width == 4 ? I::kIdVmovmskps : I::kIdVmovmskpd, to, mask);
}

void Body::check(LaneId v) {
  const LaneInst& i = code_[v];
  const ax::Reg mask = r_.reg(i.in[0]);
  const bool is_rest = trip_ == Trip::Rest && i.imm == 1;  // of the other lanes nothing is asked
  if (e_.is_avx512) {
    bits_of(ax::eax, mask, i.width);
    if (is_rest) a_.and_(ax::eax, rest_mask(i.width, 0));
  } else {
    ax::Vec m = mask.as<ax::Vec>();
    if (is_rest) {
      const ax::Vec t = r_.temp();
      a_.vandps(t, m, rest_mask(i.width, 0));
      m = t;
    }
    bits_of(ax::eax, m, i.width);
  }
  r_.restore_sums();
  a_.test(ax::eax, trip_ == Trip::One ? 1 : (1 << lanes_of(i.width)) - 1);
  a_.jnz(e_.redo);
}

void Body::end_of_trips(LaneId v) {
  const int width = code_[v].width;
  if (trip_ == Trip::Rest)
    any_of_rest(width);
  else
    any_lane(code_.condition);
  const aj::Label goes_on = a_.newLabel();
  a_.test(ax::eax, trip_ == Trip::One ? 1 : (1 << lanes_of(width)) - 1);
  a_.jnz(goes_on);
  r_.bring_home(e_.carries);
  a_.jmp(e_.done);
  a_.bind(goes_on);
}

// eax: lanes of the rest that have the condition.
void Body::any_of_rest(int width) {
  for (std::size_t k = 0; k < code_.condition.size(); ++k) {
    const ax::Gp to = k ? ax::edx : ax::eax;
    const ax::Reg mask = r_.reg(code_.condition[k]);
    const ax::Mem rest = rest_mask(width, static_cast<int>(k));
    if (e_.is_avx512) {
      bits_of(to, mask, width);
      a_.and_(to, rest);
    } else {
      const ax::Vec t = r_.temp();
      a_.vandps(t, mask.as<ax::Vec>(), rest);
      bits_of(to, t, width);
      r_.unpin(t);
    }
    r_.unpin(mask);
    if (k) a_.or_(ax::eax, ax::edx);
  }
}

// Within the half, quarter, … that the lanes fill, one instruction each.
void Body::upper(LaneId v) {
  const LaneInst& i = code_[v];
  const ax::Reg from = r_.reg(i.in[0]);
  const ax::Reg to = r_.out(v, false);
  const ax::Xmm x = ax::xmm(to.id()), y = ax::xmm(from.id());
  switch (i.imm * i.width) {
    case 32:
      a_.vextractf64x4(ax::ymm(to.id()), ax::zmm(from.id()), 1);
      return;
    case 16:
      e_.is_avx512 ? a_.vextractf32x4(x, ax::ymm(from.id()), 1) : a_.vextractf128(x, ax::ymm(from.id()), 1);
      return;
    case 8:
      a_.vpermilpd(x, y, 1);
      return;
    default:
      a_.vmovshdup(x, y);
  }
}

}  // namespace tfvm::x86
