// Calls of the block interpreter's functions, always or for rare lanes, and conversions between widths of lanes.
#include <algorithm>

#include "jit/x86/body.h"

namespace tfvm::x86 {

namespace {

// Registers of addresses that a callee may change.
constexpr int kVolatile[] = {7, 8, 9, 10, 11};  // rdi, r8 to r11

}  // namespace

void Body::store_operand(const ax::Mem& to, const aj::Operand& from, DType d) {
  const int size = static_cast<int>(size_of(d)), bytes = lanes_of(size) * size;
  if (from.isMem()) {  // only in rare calls, where xmm0 is free
    a_.vmovups(e_.vec(0), from.as<ax::Mem>());
    a_.vmovups(to, sized(e_.vec(0), bytes));
    return;
  }
  a_.vmovups(to, sized(from.as<ax::Reg>(), bytes));
}

void Body::call_buffers(const LaneCall& c, const std::vector<std::vector<aj::Operand>>& in) {
  for (int pass = 0; pass < 2; ++pass)  // what is in memory goes through a register, so last
    for (std::size_t j = 0; j < in.size(); ++j)
      for (std::size_t k = 0; k < in[j].size(); ++k) {
        if (in[j][k].isMem() != (pass == 1)) continue;
        const int size = static_cast<int>(size_of(c.dtypes[j]));
        store_operand(e_.at(e_.call_in[j] + static_cast<int>(k) * lanes_of(size) * size), in[j][k], c.dtypes[j]);
      }
  for (std::size_t k = 0; k < std::size(kVolatile); ++k)
    a_.mov(e_.at(e_.call_saved + static_cast<int>(k) * 8), ax::gpq(static_cast<std::uint32_t>(kVolatile[k])));
  a_.lea(ax::rdi, e_.at(e_.call_out));
  a_.lea(ax::rsi, e_.at(e_.call_in[0]));
  a_.lea(ax::rdx, e_.at(e_.call_in[1]));
  a_.lea(ax::rcx, e_.at(e_.call_in[2]));
  a_.mov(ax::r8d, trip_ == Trip::One ? 1 : e_.code.lanes());
  a_.mov(ax::rax, reinterpret_cast<std::uint64_t>(c.fn));
  a_.call(ax::rax);
  for (std::size_t k = 0; k < std::size(kVolatile); ++k)
    a_.mov(ax::gpq(static_cast<std::uint32_t>(kVolatile[k])), e_.at(e_.call_saved + static_cast<int>(k) * 8));
}

void Body::call(LaneId v) {
  const LaneCall& c = code_.calls()[code_[v].bits];
  for (std::size_t j = 0; j < c.in.size(); ++j)
    for (std::size_t k = 0; k < c.in[j].size(); ++k) {
      const int size = static_cast<int>(size_of(c.dtypes[j]));
      const ax::Reg x = r_.reg(c.in[j][k]);
      if (c.dtypes[j] == DType::Bool) {
        const ax::Vec bytes = ax::xmm(r_.temp().id());
        mask_to_bytes(x, bytes);
        a_.vmovups(e_.at(e_.call_in[j] + static_cast<int>(k) * lanes_of(4)), bytes);
        r_.unpin(bytes);
      } else {
        store_operand(e_.at(e_.call_in[j] + static_cast<int>(k) * lanes_of(size) * size), x, c.dtypes[j]);
      }
      r_.unpin(x);
    }
  r_.flush();
  call_buffers(c, {});
}

void Body::call_part(LaneId v) {
  const LaneId caller = code_[v].in[0];
  const LaneCall& c = code_.calls()[code_[caller].bits];
  if (!c.masks.empty()) return;  // rare_call has placed it
  const ax::Reg to = r_.out(v);
  const int k = code_[v].imm;
  if (c.out == DType::Bool) {
    const int lanes = lanes_of(4);
    a_.vpmovzxbd(sized(to, lanes * 4), e_.at(e_.call_out + k * lanes));
    return;
  }
  const int size = static_cast<int>(size_of(c.out)), bytes = lanes_of(size) * size;
  a_.vmovups(sized(to, bytes), e_.at(e_.call_out + k * bytes));
}

// eax: lanes that are set in one of the masks.
void Body::any_lane(const std::vector<LaneId>& masks) {
  ax::Reg any = r_.reg(masks[0]);
  if (masks.size() > 1) {
    const ax::Reg first = any;
    any = e_.is_avx512 ? ax::Reg(r_.mask_temp()) : ax::Reg(r_.temp());
    for (std::size_t k = 1; k < masks.size(); ++k) {
      const ax::Reg mask = r_.reg(masks[k]);
      a_.emit(e_.is_avx512 ? ax::Inst::kIdKorw : ax::Inst::kIdVorps, any, k == 1 ? first : any, mask);
      r_.unpin(mask);
    }
    r_.unpin(first);
  }
  if (e_.is_avx512)
    a_.kmovw(ax::eax, any.as<ax::KReg>());
  else
    code_[masks[0]].width == 4 ? a_.vmovmskps(ax::eax, any.as<ax::Vec>()) : a_.vmovmskpd(ax::eax, any.as<ax::Vec>());
  r_.unpin(any);
}

// The usual results stay where they are; a set mask leads to a place where everything is saved, the function is called
// on all lanes, and the results are put in the place of the usual ones.
void Body::rare_call(LaneId v) {
  const LaneCall& c = code_.calls()[code_[v].bits];
  RareCall rare{a_.newLabel(), a_.newLabel(), &c, {}, {}, {}};
  std::size_t most = 1 + 2 * c.usual.size();
  for (const auto& parts : c.in) most += parts.size();
  const bool is_tight = static_cast<int>(most) > r_.available();
  for (const auto& parts : c.in) {
    rare.in.emplace_back();
    for (LaneId p : parts) rare.in.back().push_back(is_tight ? aj::Operand(r_.in_memory(p)) : r_.where(p));
  }
  any_lane(c.masks);
  for (std::size_t k = 0; k < c.usual.size(); ++k) {
    const bool again =
        std::find(c.usual.begin() + static_cast<std::ptrdiff_t>(k) + 1, c.usual.end(), c.usual[k]) != c.usual.end();
    const ax::Reg from = r_.reg(c.usual[k]);
    rare.results.push_back(r_.take(v + 1 + static_cast<LaneId>(k), c.usual[k], again));
    if (from != rare.results.back()) r_.unpin(from);
  }
  rare.live = r_.live();
  a_.test(ax::eax, (1 << lanes_of(code_[c.masks[0]].width)) - 1);
  a_.jnz(rare.entry);
  a_.bind(rare.back);
  rare_calls_.push_back(std::move(rare));
}

void Body::emit_rare_calls() {
  const std::int32_t vectors = e_.call_saved + 64, masks = vectors + 32 * 64;
  for (const RareCall& r : rare_calls_) {
    a_.bind(r.entry);
    const auto kept = [&](auto fn) {
      for (const ax::Reg& reg : r.live) {
        bool is_result = false;
        for (const ax::Reg& result : r.results) is_result = is_result || (result.id() == reg.id() && reg.isVec());
        if (!is_result) fn(reg);
      }
    };
    kept([&](const ax::Reg& reg) {
      const int id = static_cast<int>(reg.id());
      reg.isVec() ? a_.vmovups(e_.at(vectors + id * 64), reg.as<ax::Vec>())
                  : a_.kmovw(e_.at(masks + id * 8), reg.as<ax::KReg>());
    });
    call_buffers(*r.call, r.in);
    kept([&](const ax::Reg& reg) {
      const int id = static_cast<int>(reg.id());
      reg.isVec() ? a_.vmovups(reg.as<ax::Vec>(), e_.at(vectors + id * 64))
                  : a_.kmovw(reg.as<ax::KReg>(), e_.at(masks + id * 8));
    });
    const int size = static_cast<int>(size_of(r.call->out)), bytes = lanes_of(size) * size;
    for (std::size_t k = 0; k < r.results.size(); ++k)
      a_.vmovups(sized(r.results[k], bytes), e_.at(e_.call_out + static_cast<int>(k) * bytes));
    a_.jmp(r.back);
  }
}

// Half of a register, where it stands in memory or after it was brought down.
aj::Operand Body::upper_or_lower(LaneId v, int half_index) {
  const int bytes = e_.reg_bytes() / 2;
  aj::Operand from = r_.any(v);
  if (from.isMem()) {
    ax::Mem m = from.as<ax::Mem>();
    m.addOffset(half_index * bytes);
    m.setSize(static_cast<std::uint32_t>(bytes));
    return m;
  }
  const ax::Reg x = from.as<ax::Reg>();
  if (half_index == 0) return half(x);
  const ax::Vec t = half(r_.temp());
  bytes == 32 ? a_.vextractf64x4(t, x.as<ax::Vec>(), 1) : a_.vextractf128(t, x.as<ax::Vec>(), 1);
  return t;
}

void Body::convert(LaneId v) {
  const LaneInst& i = code_[v];
  namespace In = ax::Inst;
  const bool is_k = is_mask(i.op) && e_.is_avx512;
  if (i.op == LaneOp::MaskWiden && is_k) {
    const ax::KReg x = r_.reg(i.in[0]).as<ax::KReg>(), to = r_.out(v).as<ax::KReg>();
    i.imm ? a_.kshiftrw(to, x, lanes_of(8)) : a_.kmovw(to, x);
  } else if (i.op == LaneOp::MaskNarrow && is_k) {
    const ax::KReg x = r_.reg(i.in[0]).as<ax::KReg>(),
                   y = r_.reg(i.in[1] == kNoLane ? i.in[0] : i.in[1]).as<ax::KReg>();
    if (lanes_of(8) == 8) {
      a_.kunpckbw(r_.out(v).as<ax::KReg>(), y, x);
      return;
    }
    const ax::KReg low = r_.mask_temp(), to = r_.out(v, false).as<ax::KReg>();
    a_.kshiftlw(low, x, 12);  // what is above the lanes may be anything
    a_.kshiftrw(low, low, 12);
    a_.kshiftlw(to, y, 4);
    a_.korw(to, to, low);
  } else if (i.op == LaneOp::FloatToDouble || i.op == LaneOp::IntToDouble || i.op == LaneOp::IntToLong ||
             i.op == LaneOp::MaskWiden) {
    const aj::Operand from = upper_or_lower(i.in[0], i.imm);
    const auto id = i.op == LaneOp::FloatToDouble ? In::kIdVcvtps2pd
                    : i.op == LaneOp::IntToDouble ? In::kIdVcvtdq2pd
                                                  : In::kIdVpmovsxdq;
    a_.emit(id, r_.out(v), from);
  } else if ((i.op == LaneOp::LongToInt || i.op == LaneOp::MaskNarrow) && !e_.is_avx512) {
    const ax::Reg x = r_.reg(i.in[0]), y = r_.reg(i.in[1] == kNoLane ? i.in[0] : i.in[1]);
    const ax::Vec to = r_.out(v).as<ax::Vec>();
    a_.vshufps(to, x.as<ax::Vec>(), y.as<ax::Vec>(), 0x88);
    a_.vpermpd(to, to, 0xd8);
  } else {
    const auto id = i.op == LaneOp::DoubleToFloat ? In::kIdVcvtpd2ps
                    : i.op == LaneOp::DoubleToInt ? In::kIdVcvttpd2dq
                                                  : In::kIdVpmovqd;
    const ax::Reg x = r_.reg(i.in[0]);
    if (i.in[1] == kNoLane) {
      a_.emit(id, half(r_.out(v)), x);
      return;
    }
    const ax::Reg y = r_.reg(i.in[1]);
    const ax::Vec t = r_.temp();
    const ax::Vec to = r_.out(v, false).as<ax::Vec>();
    a_.emit(id, half(to), x);
    a_.emit(id, half(t), y);
    e_.reg_bytes() == 64 ? a_.vinsertf64x4(to, to, half(t), 1) : a_.vinsertf128(to, to, half(t), 1);
  }
}

}  // namespace tfvm::x86
