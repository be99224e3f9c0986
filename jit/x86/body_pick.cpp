// Loads that pick: under a mask, or at places that an index gives. No memory of lanes that the mask leaves out is
// touched, as it may not be there.
#include <bit>

#include "jit/x86/body.h"

namespace tfvm::x86 {

namespace {

std::uint32_t log2(int n) { return static_cast<std::uint32_t>(std::countr_zero(static_cast<unsigned>(n))); }

}  // namespace

// The address of an access in a register, `other` where it has none of its own.
ax::Gp Body::pointer(std::uint32_t access, const ax::Gp& other) {
  const Pointer& p = e_.pointers[access];
  if (p.gp >= 0) return ax::gpq(static_cast<std::uint32_t>(p.gp));
  a_.mov(other, e_.at(p.slot));
  return other;
}

// The lanes that are read; a register that may be changed where `is_own`.
ax::Reg Body::pick_mask(LaneId v, bool is_own) {
  const LaneInst& i = code_[v];
  const bool is_rest = trip_ == Trip::Rest, has_mask = i.in[1] != kNoLane;
  ax::Reg given;
  if (has_mask) given = r_.reg(i.in[1]);
  if (has_mask && !is_rest && !is_own) return given;
  if (e_.is_avx512) {
    const ax::KReg k = r_.mask_temp();
    if (is_rest) a_.kmovw(k, rest_mask(i.width, i.imm));
    if (has_mask)
      is_rest ? a_.kandw(k, k, given.as<ax::KReg>()) : a_.kmovw(k, given.as<ax::KReg>());
    else if (!is_rest)
      a_.kxnorw(k, k, k);
    if (has_mask) r_.unpin(given);
    return k;
  }
  const int bytes = lanes_of(i.width) * i.width;
  const ax::Vec m = sized(r_.temp(), bytes);
  if (has_mask && is_rest)
    a_.vandps(m, sized(given, bytes), rest_mask(i.width, i.imm));
  else if (has_mask)
    a_.vmovaps(m, sized(given, bytes));
  else if (is_rest)
    a_.vmovups(m, rest_mask(i.width, i.imm));
  else
    a_.vpcmpeqd(m, m, m);
  if (has_mask) r_.unpin(given);
  return m;
}

// Lanes of 4 bytes: from the address of the first lane in bytes where the access is strided, else in elements.
ax::Vec Body::pick_index(LaneId v) {
  const LaneInst& i = code_[v];
  const int lanes = lanes_of(i.width), bytes = lanes * 4 < 16 ? 16 : lanes * 4;
  const bool is_strided = e_.shape.accesses[i.in[0]].inner == Inner::Strided;
  if (i.in[2] == kNoLane) {
    const ax::Vec t = sized(r_.temp(), bytes);
    a_.vmovups(t, e_.at(e_.index[i.in[0]]));
    return t;
  }
  const bool has_halves = i.width == 8 && code_.parts(8) > code_.parts(4);
  const aj::Operand from = has_halves ? upper_or_lower(i.in[2], i.imm & 1) : aj::Operand(r_.reg(i.in[2]));
  if (!from.isMem() && !is_strided) return sized(from.as<ax::Reg>(), bytes);
  const bool is_own = has_halves && (i.imm & 1) != 0 && !from.isMem();  // the upper half, brought down
  const ax::Vec t = is_own ? sized(from.as<ax::Reg>(), bytes) : sized(r_.temp(), bytes);
  if (from.isMem()) a_.vmovups(t, from.as<ax::Mem>());
  if (!is_strided) return t;
  a_.vpslld(t, from.isMem() ? t : sized(from.as<ax::Reg>(), bytes), log2(i.width));
  a_.vpaddd(t, t, e_.at(e_.index[i.in[0]]));
  if (!from.isMem() && !is_own) r_.unpin(from.as<ax::Reg>());
  return t;
}

// Without gathers, which some machines make of dozens of steps: the indices go through memory.
void Body::pick_each(LaneId v) {
  const LaneInst& i = code_[v];
  const ax::Vec index = pick_index(v);
  a_.vmovups(e_.at(e_.bytes), index);
  const bool is_strided = e_.shape.accesses[i.in[0]].inner == Inner::Strided;
  const auto disp = static_cast<std::int32_t>(i.bits);
  const ax::Gp base = is_strided ? strided({i.in[0], i.imm, disp}, lanes_of(i.width)) : pointer(i.in[0], ax::rax);
  each_into(v, is_strided ? ax::ptr(base, ax::rcx) : ax::ptr(base, ax::rcx, log2(i.width), disp), true);
}

void Body::pick_lanes(LaneId v) {
  const LaneInst& i = code_[v];
  if (!e_.is_avx512 && trip_ == Trip::Whole && i.in[1] == kNoLane) return pick_each(v);
  const int bytes = lanes_of(i.width) * i.width;
  const auto disp = static_cast<std::int32_t>(i.bits);
  const ax::Vec index = pick_index(v);
  const ax::Reg mask = pick_mask(v, true);
  const ax::Vec to = sized(r_.out(v, false), bytes);
  a_.vxorps(ax::xmm(to.id()), ax::xmm(to.id()), ax::xmm(to.id()));
  const bool is_strided = e_.shape.accesses[i.in[0]].inner == Inner::Strided;
  const ax::Mem m = is_strided ? ax::ptr(strided({i.in[0], i.imm, disp}, lanes_of(i.width)), index)
                               : ax::ptr(pointer(i.in[0], ax::rax), index, log2(i.width), disp);
  const aj::InstId id = i.width == 4 ? ax::Inst::kIdVgatherdps : ax::Inst::kIdVgatherdpd;
  if (e_.is_avx512)
    a_.k(mask.as<ax::KReg>()).emit(id, to, m);
  else
    a_.emit(id, to, m, mask);
}

// Leads on where no lane of the mask is set.
void Body::skip_if_none(const ax::Reg& mask, int width, const aj::Label& none) {
  const int lanes = lanes_of(width);
  if (e_.is_avx512 && lanes == 16) {
    a_.kortestw(mask.as<ax::KReg>(), mask.as<ax::KReg>());
    a_.jz(none);
    return;
  }
  bits_of(ax::eax, mask.isVec() ? ax::Reg(sized(mask, lanes * width)) : mask, width);
  a_.test(ax::eax, (1 << lanes) - 1);
  a_.jz(none);
}

// Behind skip_if_none: leads on where all lanes are set. Some machines take three times as long for a load under a
// mask.
void Body::ask_for_all(int width, const aj::Label& all) {
  a_.cmp(ax::eax, (1 << lanes_of(width)) - 1);
  a_.je(all);
}

// One element for all lanes, read where any of them wants it.
void Body::pick_same(LaneId v) {
  const LaneInst& i = code_[v];
  const int lanes = lanes_of(i.width);
  const ax::Reg mask = pick_mask(v, false);
  const ax::Vec to = sized(r_.out(v, false), lanes * i.width);
  const aj::Label none = a_.newLabel();
  a_.vxorps(ax::xmm(to.id()), ax::xmm(to.id()), ax::xmm(to.id()));
  skip_if_none(mask, i.width, none);
  const ax::Mem m = address({i.in[0], 0, static_cast<std::int32_t>(i.bits)}, i.width);
  if (e_.is_avx512) {
    i.width == 4 ? a_.k(mask.as<ax::KReg>()).z().vbroadcastss(to, m)
                 : a_.k(mask.as<ax::KReg>()).z().vbroadcastsd(to, m);
  } else {
    broadcast(to, m, i.width);
    a_.vandps(to, to, sized(mask, lanes * i.width));
  }
  a_.bind(none);
}

void Body::pick_one(LaneId v) {
  const LaneInst& i = code_[v];
  const auto disp = static_cast<std::int32_t>(i.bits);
  ax::Reg mask, index;
  if (i.in[1] != kNoLane) mask = r_.reg(i.in[1]);
  if (i.in[2] != kNoLane) index = r_.reg(i.in[2]);
  const ax::Vec to = r_.out(v, false).as<ax::Vec>();
  const aj::Label none = a_.newLabel();
  a_.vxorps(ax::xmm(to.id()), ax::xmm(to.id()), ax::xmm(to.id()));
  if (i.in[1] != kNoLane) {
    if (e_.is_avx512)
      a_.kmovw(ax::eax, mask.as<ax::KReg>());
    else
      a_.vmovd(ax::eax, ax::xmm(mask.id()));
    a_.test(ax::eax, 1);
    a_.jz(none);
  }
  const ax::Gp base = pointer(i.in[0], ax::rax);
  ax::Mem m = ax::ptr(base, disp);
  if (i.in[2] != kNoLane) {
    a_.vmovd(ax::edx, ax::xmm(index.id()));
    a_.movsxd(ax::rdx, ax::edx);
    m = ax::ptr(base, ax::rdx, log2(i.width), disp);
  }
  broadcast(to, m, i.width);
  a_.bind(none);
}

// Side by side, from a place that an index says which is the same in all lanes.
ax::Mem Body::row(LaneId v) {
  const LaneInst& i = code_[v];
  const At at{i.in[0], i.imm, static_cast<std::int32_t>(i.bits)};
  if (i.in[2] == kNoLane) return address(at, i.width);
  const aj::Operand index = r_.where(i.in[2]);
  if (index.isMem()) {
    ax::Mem first = index.as<ax::Mem>();
    first.setSize(4);
    a_.movsxd(ax::rdx, first);
  } else {
    a_.vmovd(ax::edx, ax::xmm(index.id()));
    a_.movsxd(ax::rdx, ax::edx);
  }
  a_.lea(ax::rdx, ax::ptr(pointer(i.in[0], ax::rax), ax::rdx, log2(i.width)));
  return ax::ptr(ax::rdx, Emission::kIndex, log2(i.width), at.part * lanes_of(i.width) * i.width + at.displacement);
}

// All lanes, or none: where the mask stands in memory, one lane of it says which.
void Body::pick_all(LaneId v) {
  const LaneInst& i = code_[v];
  const aj::Label none = a_.newLabel();
  const aj::Operand mask = r_.where(i.in[1]);
  const ax::Vec to = sized(r_.out(v, false), lanes_of(i.width) * i.width);
  a_.vxorps(ax::xmm(to.id()), ax::xmm(to.id()), ax::xmm(to.id()));
  if (mask.isMem()) {
    ax::Mem first = mask.as<ax::Mem>();
    first.setSize(1);
    a_.test(first, 1);
    a_.jz(none);
  } else {
    skip_if_none(mask.as<ax::Reg>(), i.width, none);
  }
  const ax::Mem m = row(v);
  a_.vmovups(to, m);
  a_.bind(none);
}

// The processor takes its time over a page that is not there, even where no lane wants anything of it.
void Body::load_picked(LaneId v) {
  const LaneInst& i = code_[v];
  if (trip_ == Trip::One) return pick_one(v);
  const Inner inner = e_.shape.accesses[i.in[0]].inner;
  if (inner == Inner::Strided || (i.in[2] != kNoLane && inner == Inner::Same)) return pick_lanes(v);
  if (inner == Inner::Same) return pick_same(v);
  const int bytes = lanes_of(i.width) * i.width;
  if (i.in[1] == kNoLane && trip_ == Trip::Whole) {
    const ax::Mem m = row(v);
    a_.vmovups(sized(r_.out(v, false), bytes), m);
    return;
  }
  const bool is_whole = trip_ == Trip::Whole;
  if (is_whole && i.in[1] < e_.same.size() && e_.same[i.in[1]]) return pick_all(v);
  const ax::Reg mask = pick_mask(v, false);
  const ax::Vec to = sized(r_.out(v, false), bytes);
  const aj::Label none = a_.newLabel();
  a_.vxorps(ax::xmm(to.id()), ax::xmm(to.id()), ax::xmm(to.id()));
  skip_if_none(mask, i.width, none);
  const ax::Mem m = row(v);
  if (e_.is_avx512) {
    a_.k(mask.as<ax::KReg>()).z().emit(i.width == 4 ? ax::Inst::kIdVmovups : ax::Inst::kIdVmovupd, to, m);
  } else {
    const aj::Label all = a_.newLabel();
    const bool asks = is_whole && e_.pointers[i.in[0]].gp >= 0;  // the address took no rax
    if (asks) ask_for_all(i.width, all);
    a_.emit(i.width == 4 ? ax::Inst::kIdVmaskmovps : ax::Inst::kIdVmaskmovpd, to, sized(mask, bytes), m);
    if (asks) a_.jmp(none);
    a_.bind(all);
    if (asks) a_.vmovups(to, m);
  }
  a_.bind(none);
}

}  // namespace tfvm::x86
