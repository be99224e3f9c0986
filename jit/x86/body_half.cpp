// Loads, stores and roundings of f16 and bf16, which lanes hold as f32. Where the elements are not consecutive, or the
// trip has fewer than the lanes, they pass through a buffer one by one.
#include "jit/x86/body.h"

namespace tfvm::x86 {

// f16 or bf16 elements in memory, as many as `to` has lanes.
void Body::widen(const ax::Vec& to, const ax::Mem& from, DType d) {
  if (d == DType::F16) return void(a_.vcvtph2ps(to, from));
  a_.vpmovzxwd(to, from);
  a_.vpslld(to, to, 16);
}

void Body::load_half(LaneId v) {
  const LaneInst& i = code_[v];
  const ShapeAccess& s = e_.shape.accesses[i.in[0]];
  const auto disp = static_cast<std::int32_t>(i.bits);
  const int lanes = lanes_of(4);
  const ax::Reg out = r_.out(v);
  const ax::Vec to = sized(out, lanes * 4);
  const ax::Xmm x = ax::xmm(to.id());
  if (trip_ == Trip::One || s.inner == Inner::Same) {
    ax::Mem m = address({i.in[0], 0, disp}, 2);
    m.setSize(2);
    a_.movzx(ax::eax, m);
    if (s.dtype == DType::BF16) a_.shl(ax::eax, 16);
    a_.vmovd(x, ax::eax);
    if (s.dtype == DType::F16) a_.vcvtph2ps(x, x);
    a_.vbroadcastss(out.as<ax::Vec>(), x);
  } else if (s.inner == Inner::Unit && trip_ == Trip::Whole) {
    widen(to, address({i.in[0], i.imm, disp}, 2), s.dtype);
  } else {
    const ax::Vec zero = sized(to, lanes == 16 ? 32 : 16);
    a_.vxorps(zero, zero, zero);
    a_.vmovups(e_.at(e_.bytes), zero);
    each_lane({i.in[0], i.imm, disp}, 2, lanes, true);
    widen(to, e_.at(e_.bytes), s.dtype);
  }
}

void Body::store_half(LaneId v) {
  const LaneInst& i = code_[v];
  const ShapeAccess& s = e_.shape.accesses[i.in[1]];
  const auto disp = static_cast<std::int32_t>(i.bits);
  const int lanes = lanes_of(4);
  const ax::Vec value = sized(r_.reg(i.in[0]), lanes * 4), t = sized(r_.temp(), lanes * 4);
  const ax::Vec words = sized(t, lanes == 16 ? 32 : 16);
  if (s.dtype == DType::F16) {
    a_.vcvtps2ph(words, value, 0);
  } else if (lanes == 16) {
    a_.vpsrld(t, value, 16);
    a_.vpmovdw(words, t);
  } else {
    a_.vpsrld(t, value, 16);
    a_.vpackusdw(t, t, t);
    if (lanes == 8) a_.vpermq(t, t, 0x08);
  }
  if (trip_ == Trip::One || s.inner == Inner::Same) {
    a_.vpextrw(address({i.in[1], 0, disp}, 2), ax::xmm(t.id()), 0);
  } else if (s.inner == Inner::Strided || trip_ == Trip::Rest) {
    a_.vmovups(e_.at(e_.bytes), words);
    each_lane({i.in[1], i.imm, disp}, 2, lanes, false);
  } else if (lanes == 4) {
    a_.vmovq(address({i.in[1], i.imm, disp}, 2), ax::xmm(t.id()));
  } else {
    a_.vmovups(address({i.in[1], i.imm, disp}, 2), words);
  }
}

void Body::round_half(LaneId v) {
  const int lanes = lanes_of(4);
  const ax::Vec x = sized(r_.reg(code_[v].in[0]), lanes * 4), to = sized(r_.out(v), lanes * 4);
  const ax::Vec words = sized(to, lanes == 16 ? 32 : 16);
  a_.vcvtps2ph(words, x, 0);
  a_.vcvtph2ps(to, words);
}

}  // namespace tfvm::x86
