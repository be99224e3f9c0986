// Loads and stores: whole registers, the first lanes by masks, strided lanes by gathers and one by one, bytes of bools.
#include <algorithm>
#include <bit>

#include "jit/x86/body.h"

namespace tfvm::x86 {

namespace {

using Id = aj::InstId;
namespace I = ax::Inst;

int log2(int n) { return std::countr_zero(static_cast<unsigned>(n)); }

}  // namespace

// Into all lanes.
void Body::broadcast(const ax::Vec& to, const ax::Mem& from, int width) {
  a_.emit(width == 4 ? I::kIdVbroadcastss : to.isXmm() ? I::kIdVmovddup : I::kIdVbroadcastsd, to, from);
}

ax::Mem Body::rest_mask(int width, int part) const {
  return e_.at((width == 4 ? e_.rest4 : e_.rest8)[static_cast<std::size_t>(part)]);
}

ax::Mem Body::address(At at, int size) {
  const ShapeAccess& s = e_.shape.accesses[at.access];
  const Pointer& p = e_.pointers[at.access];
  ax::Gp base = p.gp >= 0 ? ax::gpq(static_cast<std::uint32_t>(p.gp)) : ax::rax;
  if (p.gp < 0) a_.mov(base, e_.at(p.slot));
  if (p.is_indexed) return ax::ptr(base, Emission::kIndex, static_cast<std::uint32_t>(log2(size)));
  if (trip_ == Trip::One || s.inner == Inner::Same) return ax::ptr(base, at.displacement);
  const int lanes = lanes_of(std::max(size, 4));
  return ax::ptr(base, Emission::kIndex, static_cast<std::uint32_t>(log2(size)),
                 at.part * lanes * size + at.displacement);
}

// rcx: the stride of an access, rsi: three of it.
void Body::each_stride(std::uint32_t access) {
  a_.mov(ax::rcx, e_.arg(arg_access(e_.shape, access) + 1));
  a_.lea(ax::rsi, ax::ptr(ax::rcx, ax::rcx, 1));
}

// Of a lane, one of the four that begin at rdx.
ax::Mem Body::lane(int k, int displacement) const {
  ax::Mem m = ax::ptr(ax::rdx, displacement);
  if (k > 0) m.setIndex(k == 3 ? ax::rsi : ax::rcx, k == 2 ? 1 : 0);
  return m;
}

void Body::next_lanes() { a_.lea(ax::rdx, ax::ptr(ax::rdx, ax::rcx, 2)); }

// rdx = the place of the first lane of a part.
ax::Gp Body::strided(At at, int lanes) {
  const Pointer& p = e_.pointers[at.access];
  const ax::Gp to = ax::rdx;
  if (trip_ == Trip::One) {
    p.gp >= 0 ? a_.mov(to, ax::gpq(static_cast<std::uint32_t>(p.gp))) : a_.mov(to, e_.at(p.slot));
    if (at.displacement) a_.add(to, at.displacement);
    return to;
  }
  if (at.part > 0)
    a_.lea(to, ax::ptr(Emission::kIndex, at.part * lanes));
  else
    a_.mov(to, Emission::kIndex);
  a_.imul(to, e_.arg(arg_access(e_.shape, at.access) + 1));
  p.gp >= 0 ? a_.add(to, ax::gpq(static_cast<std::uint32_t>(p.gp))) : a_.add(to, e_.at(p.slot));
  if (at.displacement) a_.add(to, at.displacement);
  return to;
}

// Moves single elements between an access and the buffer of bytes, as many as the trip has.
void Body::each_lane(At at, int size, int count, bool is_load) {
  const ax::Gp value = size == 8 ? ax::Gp(ax::rax) : ax::Gp(ax::eax), place = strided(at, count);
  const auto move = [&](const ax::Mem& buffer, ax::Mem memory) {
    ax::Mem m = buffer;
    m.setSize(static_cast<std::uint32_t>(size));
    memory.setSize(static_cast<std::uint32_t>(size));
    const ax::Mem from = is_load ? memory : m, to = is_load ? m : memory;
    if (size == 1) {
      a_.movzx(ax::eax, from);
      a_.mov(to, ax::al);
    } else if (size == 2) {
      a_.movzx(ax::eax, from);
      a_.mov(to, ax::ax);
    } else {
      a_.mov(value, from);
      a_.mov(to, value);
    }
  };
  a_.mov(ax::rcx, e_.arg(arg_access(e_.shape, at.access) + 1));
  if (trip_ == Trip::Whole) {
    for (int k = 0; k < count; ++k) {
      move(e_.at(e_.bytes + k * size), ax::ptr(place));
      if (k + 1 < count) a_.add(place, ax::rcx);
    }
    return;
  }
  const aj::Label again = a_.newLabel(), done = a_.newLabel();
  a_.xor_(ax::esi, ax::esi);
  a_.bind(again);
  a_.lea(ax::rax, ax::ptr(ax::rsi, at.part * count));
  a_.cmp(ax::rax, e_.arg(kArgRest));
  a_.jge(done);
  a_.cmp(ax::rsi, count);
  a_.jge(done);
  move(ax::ptr(ax::rsp, ax::rsi, static_cast<std::uint32_t>(log2(size)), e_.bytes), ax::ptr(place));
  a_.add(place, ax::rcx);
  a_.inc(ax::rsi);
  a_.jmp(again);
  a_.bind(done);
}

void Body::load(LaneId v) {
  const LaneInst& i = code_[v];
  const auto access = i.in[0];
  const auto disp = static_cast<std::int32_t>(i.bits);
  const int width = i.width;
  const Inner inner = e_.shape.accesses[access].inner;
  if (trip_ == Trip::One || inner == Inner::Same) {
    const ax::Vec to = r_.out(v).as<ax::Vec>();
    const ax::Mem m = address({access, 0, disp}, width);
    broadcast(to, m, width);
    return;
  }
  if (inner == Inner::Strided) return load_strided(v);
  const ax::Vec to = sized(r_.out(v), lanes_of(width) * width);
  if (trip_ == Trip::Whole) {
    a_.vmovups(to, address({access, i.imm, disp}, width));
  } else if (e_.is_avx512) {
    const ax::KReg k = r_.mask_temp();
    a_.kmovw(k, rest_mask(width, i.imm));
    const ax::Mem m =
        address({access, i.imm, disp}, width);  // before the mask is named: it may be an instruction itself
    a_.k(k).z().emit(width == 4 ? I::kIdVmovups : I::kIdVmovupd, to, m);
  } else {
    const ax::Vec mask = sized(r_.temp(), lanes_of(width) * width);
    a_.vmovups(mask, rest_mask(width, i.imm));
    a_.emit(width == 4 ? I::kIdVmaskmovps : I::kIdVmaskmovpd, to, mask, address({access, i.imm, disp}, width));
  }
}

void Body::each_into(LaneId v, ax::Mem place, bool by_index) {
  const int width = code_[v].width, lanes = lanes_of(width), half = 16 / width;
  const ax::Vec to = sized(r_.out(v, false), lanes * width);
  ax::Xmm x = ax::xmm(to.id());
  for (int n = 0; n < lanes; ++n) {
    if (by_index) {
      a_.movsxd(ax::rcx, ax::dword_ptr(ax::rsp, e_.bytes + 4 * n));
    } else {
      if (n > 0 && n % 4 == 0) next_lanes();
      place = lane(n % 4);
    }
    if (n == half) x = ax::xmm(r_.temp().id());
    const int k = n % half;
    if (k == 0)
      a_.emit(width == 4 ? I::kIdVmovss : I::kIdVmovsd, x, place);
    else
      width == 4 ? a_.vinsertps(x, x, place, k << 4) : a_.vmovhpd(x, x, place);
  }
  if (lanes > half) a_.vinsertf128(to, to, x, 1);
}

void Body::load_each(LaneId v) {
  const LaneInst& i = code_[v];
  strided({i.in[0], i.imm, static_cast<std::int32_t>(i.bits)}, lanes_of(i.width));
  each_stride(i.in[0]);
  each_into(v, ax::ptr(ax::rdx), false);
}

void Body::store_each(LaneId v) {
  const LaneInst& i = code_[v];
  const int lanes = lanes_of(i.width), half = 16 / i.width;
  const ax::Reg value = r_.reg(i.in[0]);
  strided({i.in[1], i.imm, static_cast<std::int32_t>(i.bits)}, lanes);
  each_stride(i.in[1]);
  ax::Xmm x = ax::xmm(value.id());
  for (int k = 0; k < lanes; ++k) {
    if (k > 0 && k % 4 == 0) next_lanes();
    if (k == half) {
      x = ax::xmm(r_.temp().id());
      a_.vextractf128(x, ax::ymm(value.id()), 1);
    }
    if (k % half == 0)
      a_.emit(i.width == 4 ? I::kIdVmovss : I::kIdVmovlps, lane(k % 4), x);
    else
      i.width == 4 ? a_.vextractps(lane(k % 4), x, k % half) : a_.vmovhps(lane(k % 4), x);
  }
}

void Body::load_strided(LaneId v) {
  const LaneInst& i = code_[v];
  const int width = i.width, lanes = lanes_of(width), bytes = lanes * width;
  if (!e_.is_avx512 && trip_ == Trip::Whole) return load_each(v);
  const ax::Vec to = sized(r_.out(v), bytes), index = sized(r_.temp(), lanes * 4 < 16 ? 16 : lanes * 4);
  a_.vmovups(index, e_.at(e_.index[i.in[0]]));
  a_.vxorps(ax::xmm(to.id()), ax::xmm(to.id()), ax::xmm(to.id()));
  const ax::Gp base = strided({i.in[0], i.imm, static_cast<std::int32_t>(i.bits)}, lanes);
  const ax::Mem m = ax::ptr(base, index);
  if (e_.is_avx512) {
    const ax::KReg k = r_.mask_temp();
    trip_ == Trip::Whole ? a_.kxnorw(k, k, k) : a_.kmovw(k, rest_mask(width, i.imm));
    a_.k(k).emit(width == 4 ? I::kIdVgatherdps : I::kIdVgatherdpd, to, m);
    return;
  }
  const ax::Vec mask = sized(r_.temp(), bytes);
  trip_ == Trip::Whole ? a_.vpcmpeqd(mask, mask, mask) : a_.vmovups(mask, rest_mask(width, i.imm));
  a_.emit(width == 4 ? I::kIdVgatherdps : I::kIdVgatherdpd, to, m, mask);
}

void Body::load_bool(LaneId v) {
  const LaneInst& i = code_[v];
  const auto access = i.in[0];
  const auto disp = static_cast<std::int32_t>(i.bits);
  const Inner inner = e_.shape.accesses[access].inner;
  const int lanes = lanes_of(4);
  const ax::Vec t = sized(r_.temp(), lanes * 4);
  if (trip_ == Trip::One || inner == Inner::Same) {
    a_.vpbroadcastb(ax::xmm(t.id()), address({access, 0, disp}, 1));
    a_.vpmovzxbd(t, ax::xmm(t.id()));
  } else if (inner == Inner::Unit && trip_ == Trip::Whole) {
    a_.vpmovzxbd(t, address({access, i.imm, disp}, 1));
  } else {
    const ax::Vec x = ax::xmm(t.id());
    a_.vpxor(x, x, x);
    a_.vmovups(e_.at(e_.bytes), x);
    each_lane({access, i.imm, disp}, 1, lanes, true);
    a_.vpmovzxbd(t, e_.at(e_.bytes));
  }
  if (e_.is_avx512)
    a_.vptestmd(r_.out(v).as<ax::KReg>(), t, t);
  else
    a_.vpcmpgtd(r_.out(v).as<ax::Vec>(), e_.vec(t.id()), e_.pool.lanes(8, 0));
}

void Body::iota(LaneId v) {
  const LaneInst& i = code_[v];
  const ax::Vec to = r_.out(v).as<ax::Vec>();
  const ax::Xmm x = ax::xmm(to.id());
  const Pointer& p = e_.pointers[i.in[0]];
  const bool is_same = trip_ == Trip::One || e_.shape.accesses[i.in[0]].inner == Inner::Same;
  const bool is4 = i.width == 4;
  const Id broadcast = is4 ? I::kIdVpbroadcastd : I::kIdVpbroadcastq;
  if (is_same && p.gp < 0) {
    a_.emit(broadcast, to, e_.at(p.slot));
    return;
  }
  const ax::Gp place =
      is_same ? ax::Gp(ax::gpq(static_cast<std::uint32_t>(p.gp))) : strided({i.in[0], i.imm}, lanes_of(i.width));
  const ax::Gp first = is4 ? ax::Gp(place.r32()) : place;
  if (e_.is_avx512) {
    a_.emit(broadcast, to, first);
  } else {
    a_.emit(is4 ? I::kIdVmovd : I::kIdVmovq, x, first);
    a_.emit(broadcast, to, x);
  }
  if (!is_same) a_.emit(is4 ? I::kIdVpaddd : I::kIdVpaddq, to, to, e_.at(e_.index[i.in[0]]));
}

// The first lanes of the rest in halves, quarters, …, as the bits of their number say: a store under a mask takes some
// machines twenty times as long as one without. Uses rax and rdx.
void Body::store_pieces(At at, const ax::Reg& value, int width) {
  const int lanes = lanes_of(width), first = at.part * lanes;
  const aj::Label done = a_.newLabel(), some = a_.newLabel();
  ax::Mem rest = e_.arg(kArgRest);
  rest.setSize(1);
  const ax::Xmm left = ax::xmm(r_.temp().id());  // which may move others, so before any way around it
  a_.lea(ax::rdx, address(at, width));
  if (e_.code.lanes() > lanes) {
    a_.cmp(rest, first);
    a_.jle(done);
    a_.cmp(rest, first + lanes);
    a_.jl(some);
    a_.vmovups(ax::ptr(ax::rdx), sized(value, lanes * width));
    a_.jmp(done);
  }
  a_.bind(some);
  a_.vmovaps(left, ax::xmm(value.id()));
  for (int bytes = lanes * width / 2; bytes >= width; bytes /= 2) {
    const aj::Label next = a_.newLabel();
    a_.test(rest, bytes / width);
    a_.jz(next);
    a_.emit(bytes == 16 ? I::kIdVmovups : bytes == 8 ? I::kIdVmovlps : I::kIdVmovss, ax::ptr(ax::rdx), left);
    if (bytes > width) {
      a_.add(ax::rdx, bytes);
      a_.emit(bytes == 16 ? I::kIdVextractf128 : I::kIdVpermilpd, left,
              bytes == 16 ? ax::ymm(value.id()) : ax::Vec(left), aj::imm(1));
    }
    a_.bind(next);
  }
  a_.bind(done);
}

void Body::store(LaneId v) {
  const LaneInst& i = code_[v];
  const auto access = i.in[1];
  const auto disp = static_cast<std::int32_t>(i.bits);
  const int width = i.width, bytes = lanes_of(width) * width;
  const ax::Reg value = r_.reg(i.in[0]);
  const Inner inner = e_.shape.accesses[access].inner;
  if (trip_ == Trip::One || inner == Inner::Same) {
    const ax::Xmm x = ax::xmm(value.id());
    a_.emit(width == 4 ? I::kIdVmovss : I::kIdVmovsd, address({access, 0, disp}, width), x);
  } else if (inner == Inner::Strided && trip_ == Trip::Whole && !e_.is_avx512) {
    store_each(v);
  } else if (inner == Inner::Strided) {
    a_.vmovups(e_.at(e_.bytes), sized(value, bytes));
    each_lane({access, i.imm, disp}, width, lanes_of(width), false);
  } else if (trip_ == Trip::Whole && e_.is_streaming && e_.shape.accesses[access].is_streamed) {
    a_.vmovntps(address({access, i.imm, disp}, width), value.as<ax::Vec>());
  } else if (trip_ == Trip::Whole) {
    a_.vmovups(address({access, i.imm, disp}, width), sized(value, bytes));
  } else if (e_.is_avx512) {
    const ax::KReg k = r_.mask_temp();
    a_.kmovw(k, rest_mask(width, i.imm));
    const ax::Mem m = address({access, i.imm, disp}, width);
    a_.k(k).emit(width == 4 ? I::kIdVmovups : I::kIdVmovupd, m, sized(value, bytes));
  } else {
    store_pieces({access, i.imm, disp}, value, width);
  }
}

// The lanes of a mask as bytes 0 and 1.
void Body::mask_to_bytes(const ax::Reg& mask, const ax::Vec& out) {
  const ax::Vec x = ax::xmm(out.id()), m = ax::xmm(mask.id());
  const ax::Mem ones = e_.pool.lanes(8, 0x0101010101010101u);
  if (e_.is_avx512) {
    a_.k(mask.as<ax::KReg>()).z().vmovdqu8(x, ones);
    return;
  }
  if (lanes_of(4) == 8)
    a_.vextracti128(x, ax::ymm(mask.id()), 1);
  else
    a_.vmovaps(x, m);
  a_.vpackssdw(x, m, x);
  a_.vpacksswb(x, x, x);
  a_.vpand(x, x, ones);
}

void Body::store_bool(LaneId v) {
  const LaneInst& i = code_[v];
  const auto access = i.in[1];
  const auto disp = static_cast<std::int32_t>(i.bits);
  const int lanes = lanes_of(4);
  const ax::Reg mask = r_.reg(i.in[0]);
  const ax::Xmm x = ax::xmm(r_.temp().id());
  mask_to_bytes(mask, x);
  const Inner inner = e_.shape.accesses[access].inner;
  if (trip_ == Trip::One || inner == Inner::Same) {
    a_.vpextrb(address({access, 0, disp}, 1), x, 0);
  } else if (inner == Inner::Strided || trip_ == Trip::Rest) {
    a_.vmovups(e_.at(e_.bytes), x);
    each_lane({access, i.imm, disp}, 1, lanes, false);
  } else if (lanes == 16) {
    a_.vmovups(address({access, i.imm, disp}, 1), x);
  } else {
    lanes == 8 ? a_.vmovq(address({access, i.imm, disp}, 1), x) : a_.vmovd(address({access, i.imm, disp}, 1), x);
  }
}

}  // namespace tfvm::x86
