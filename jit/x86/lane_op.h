#pragma once
// The operations of lane code; see lane_code.h.

#include <cstdint>

namespace tfvm::x86 {

enum class LaneOp : std::uint8_t {
  Const,      // bits in every lane
  Load,       // in[0]: access; imm: part; in[1], in[2], where they are: a mask, and a register of i32 indices, of which
              // a part of 8-byte lanes takes the half that its number says
  LoadBool,   // the same, of bytes 0 and 1 -> mask of 4-byte lanes
  LoadHalf,   // the same, of f16 or bf16 -> f32 lanes
  Iota,       // in[0]: access; imm: part -> i64 lanes, of narrow ones i32 lanes
  Store,      // in[0]: value, in[1]: access; imm: part
  StoreBool,  // the same, of a mask of 4-byte lanes
  StoreHalf,  // the same, of f32 lanes that are values of f16 or bf16; of f16 it rounds
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,  // in[0] where it is greater (less) than in[1], else in[1]: where either is NaN, too
  Sqrt,
  Round,      // imm: nearest even, down, up, to zero
  RoundHalf,  // f32 lanes to values of f16
  Fma,        // imm: 1 negates the product, 2 negates the third
  Compare,    // imm: predicate of vcmpps
  IAdd,
  ISub,
  IMul,     // low halves of 4-byte lanes
  MulWide,  // of the low 4 bytes of 8-byte lanes, unsigned
  Shl,
  ShrL,
  ShrA,  // imm: count
  ShlV,
  ShrLV,
  ShrAV,  // counts per lane; the width or more gives 0, ShrAV (4 bytes only) the sign
  IEq,
  IGt,  // masks
  And,
  Or,
  Xor,
  Select,  // mask ? in[1] : in[2]
  MaskAnd,
  MaskOr,
  MaskXor,
  MaskNot,
  MaskWiden,   // 4-byte lanes -> 8-byte lanes of half imm
  MaskNarrow,  // two masks of 8-byte lanes -> one of 4-byte lanes; in[1] may be none
  FloatToDouble,
  IntToDouble,
  IntToLong,  // half imm of 4-byte lanes -> 8-byte lanes
  DoubleToFloat,
  DoubleToInt,
  LongToInt,  // two registers -> one; in[1] may be none; DoubleToInt truncates
  IntToFloat,
  FloatToInt,  // FloatToInt truncates; outside the range gives the least integer
  Next,        // the end of a trip of a loop: LaneCode::next are what its carries are in the next one
  While,       // no lane of LaneCode::condition is set: the trips end here, with LaneCode::carried as they are
  RestMask,    // the lanes of the Rest trip; imm: part
  Check,       // a lane of in[0] is set: the line is left, to be run exactly; imm: 1 where in[0] is of all lanes
  Upper,       // lanes from imm on, moved down to the first
  LoadPlace,   // bits: a Place in the frame
  StorePlace,  // in[0] -> the same
  Sum,         // bits: which; the value as the line begins
  SetSum,      // in[0]: the value as it ends; imm: 1 in whole trips only, 2 in the Rest trip only
  Call,        // bits: index into calls; its results are the CallPart instructions behind it
  CallPart,    // in[0]: the Call; imm: part
};

// A register's worth of the frame: at an offset, to which a register may be added.
struct Place {
  std::int32_t offset = 0;
  std::int8_t gp = -1;          // none
  std::uint8_t scale = 0;       // log2 of the bytes that one of it counts
  std::uint64_t bits() const {  // gp + 1, so that none is 0
    return static_cast<std::uint32_t>(offset) | static_cast<std::uint64_t>(gp + 1) << 32 | std::uint64_t{scale} << 40;
  }
  static Place of(std::uint64_t bits) {
    return {static_cast<std::int32_t>(bits), static_cast<std::int8_t>((bits >> 32 & 255) - 1),
            static_cast<std::uint8_t>(bits >> 40)};
  }
  Place operator+(std::int32_t bytes) const { return {offset + bytes, gp, scale}; }
};

bool is_mask(LaneOp op);
bool has_effect(LaneOp op);
bool has_result(LaneOp op);

}  // namespace tfvm::x86
