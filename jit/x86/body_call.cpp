// Calls of the block interpreter's functions, always or for rare lanes, and conversions between widths of lanes.
#include <algorithm>

#include "jit/x86/body.h"

namespace tfvm::x86 {

void Body::store_operand(const ax::Mem& to, const ax::Reg& from, DType d) {
  const int size = static_cast<int>(size_of(d));
  a_.vmovups(to, sized(from, lanes_of(size) * size));
}

void Body::call_function(const LaneCall& c, aj::Label& caller) {
  if (!caller.isValid()) caller = a_.newLabel();
  a_.mov(ax::ecx, trip_ == Trip::One ? 1 : e_.code.lanes());
  a_.mov(ax::rax, reinterpret_cast<std::uint64_t>(c.fn));
  a_.call(caller);
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
  call_function(c, e_.caller);
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
  bits_of(ax::eax, any, code_[masks[0]].width);
  r_.unpin(any);
}

// The usual results stay where they are; a set mask leads to a place where everything is saved, the function is called
// on all lanes, and the results are put in the place of the usual ones.
void Body::rare_call(LaneId v) {
  const LaneCall& c = code_.calls()[code_[v].bits];
  RareCall rare{a_.newLabel(), a_.newLabel(), &c, {}, {}, code_.source_of(v)};
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
  e_.kept |= r_.live();
  a_.test(ax::eax, (1 << lanes_of(code_[c.masks[0]].width)) - 1);
  a_.jnz(rare.entry);
  a_.bind(rare.back);
  rare_calls_.push_back(std::move(rare));
}

// What is in memory goes through a register, which has its value again before all registers are saved.
void Body::rare_operands(const RareCall& r) {
  const ax::Vec through = e_.vec(0);
  bool has_memory = false;
  for (const bool memory : {false, true})
    for (std::size_t j = 0; j < r.in.size(); ++j)
      for (std::size_t k = 0; k < r.in[j].size(); ++k) {
        if (r.in[j][k].isMem() != memory) continue;
        const int size = static_cast<int>(size_of(r.call->dtypes[j]));
        const ax::Mem to = e_.at(e_.call_in[j] + static_cast<int>(k) * lanes_of(size) * size);
        if (!memory) {
          store_operand(to, r.in[j][k].as<ax::Reg>(), r.call->dtypes[j]);
          continue;
        }
        if (!has_memory) a_.vmovups(e_.at(e_.vectors()), through);
        has_memory = true;
        a_.vmovups(through, r.in[j][k].as<ax::Mem>());
        store_operand(to, through, r.call->dtypes[j]);
      }
  if (has_memory) a_.vmovups(through, e_.at(e_.vectors()));
}

void Body::emit_rare_calls() {
  for (const RareCall& r : rare_calls_) {
    e_.mark(r.source);
    a_.bind(r.entry);
    rare_operands(r);
    call_function(*r.call, e_.rare_caller);
    const int size = static_cast<int>(size_of(r.call->out)), bytes = lanes_of(size) * size;
    for (std::size_t k = 0; k < r.results.size(); ++k)
      a_.vmovups(sized(r.results[k], bytes), e_.at(e_.call_out + static_cast<int>(k) * bytes));
    a_.jmp(r.back);
  }
  e_.mark(0);
}

// Half of a register, where it stands in memory or after it was brought down.
aj::Operand Body::upper_or_lower(LaneId v, int half_index) {
  const int bytes = code_.named_bytes() / 2;
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
    if (!code_.is_one()) a_.vpermpd(to, to, 0xd8);
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
