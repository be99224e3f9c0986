// Rows of an array of structs: see rows.h. Registers of rows of four elements of 4 bytes hold those of lanes k and k +
// 4 in their halves, of two of 8 bytes those of lanes k and k + 2, of two of 4 bytes those of k, k + 1, k + 4 and k +
// 5; shuffles within halves turn them.
#include "jit/x86/body.h"

namespace tfvm::x86 {

namespace {

using Id = aj::InstId;
namespace I = ax::Inst;

struct Turn {
  Id id;
  std::uint8_t to, a, b, imm = 0;  // registers
};

struct Turns {
  std::uint8_t rows[4];  // registers that hold them
  Turn turns[8];
};

constexpr Id kLow4 = I::kIdVunpcklps, kHigh4 = I::kIdVunpckhps, kLow8 = I::kIdVunpcklpd, kHigh8 = I::kIdVunpckhpd;

// Registers 0 to 3 are the elements, those behind them others. Of pairs of 8 bytes, pairs of 4 bytes, fours.
constexpr Turns kLoads[] = {{{1, 4}, {{kLow8, 0, 1, 4}, {kHigh8, 1, 1, 4}}},
                            {{1, 4}, {{I::kIdVshufps, 0, 1, 4, 0x88}, {I::kIdVshufps, 1, 1, 4, 0xdd}}},
                            {{3, 2, 4, 0},
                             {{kLow4, 1, 3, 2},
                              {kHigh4, 3, 3, 2},
                              {kLow4, 2, 4, 0},
                              {kHigh4, 4, 4, 0},
                              {kLow8, 0, 1, 2},
                              {kHigh8, 1, 1, 2},
                              {kLow8, 2, 3, 4},
                              {kHigh8, 3, 3, 4}}}};
constexpr Turns kStores[] = {{{4, 5}, {{kLow8, 4, 0, 1}, {kHigh8, 5, 0, 1}}},
                             {{4, 5}, {{kLow4, 4, 0, 1}, {kHigh4, 5, 0, 1}}},
                             {{4, 5, 6, 7},
                              {{kLow4, 8, 0, 1},
                               {kLow4, 7, 2, 3},
                               {kLow8, 4, 8, 7},
                               {kHigh8, 5, 8, 7},
                               {kHigh4, 8, 0, 1},
                               {kHigh4, 7, 2, 3},
                               {kLow8, 6, 8, 7},
                               {kHigh8, 7, 8, 7}}}};

}  // namespace

void Body::row(const Row& row) {
  const LaneInst& i = code_[row.of[0]];
  const bool is_load = i.op == LaneOp::Load;
  const int bytes = lanes_of(i.width) * i.width, kind = i.width == 8 ? 0 : row.size == 2 ? 1 : 2;
  const std::uint32_t access = i.in[is_load ? 0 : 1];
  strided({access, i.imm, static_cast<std::int32_t>(i.bits)}, lanes_of(i.width));
  each_stride(access);
  ax::Vec regs[9];
  for (std::size_t k = 0; k < (kind == 2 ? 4u : 2u); ++k) {
    const LaneId v = row.of[k];
    if (v == kNoLane)
      regs[k] = is_load ? sized(r_.temp(), bytes) : regs[k - 1];
    else
      regs[k] = sized(is_load ? r_.out(v, false) : r_.reg(code_[v].in[0]), bytes);
  }
  for (std::size_t k = 4; k < (is_load ? 6u : kind == 2 ? 9u : 6u); ++k) regs[k] = sized(r_.temp(), bytes);
  const Turns& t = is_load ? kLoads[kind] : kStores[kind];
  if (is_load) move_rows(row, i.width, regs, t.rows, true);
  for (const Turn& u : t.turns) {
    if (u.id == 0) break;
    if (u.imm)
      a_.emit(u.id, regs[u.to], regs[u.a], regs[u.b], aj::imm(u.imm));
    else
      a_.emit(u.id, regs[u.to], regs[u.a], regs[u.b]);
  }
  if (!is_load) move_rows(row, i.width, regs, t.rows, false);
}

// Between memory and the registers of rows. Where three elements are loaded the fourth is another lane's, but of the
// first and the last lane, which may be where the array ends.
void Body::move_rows(const Row& row, int width, const ax::Vec* regs, const std::uint8_t* rows, bool is_load) {
  const bool is_pair = row.size == 2 && width == 4, is_three = row.size == 3;
  const int lanes = lanes_of(width), half = 16 / width, count = row.size == 2 ? 2 : 4;
  const ax::Xmm other = ax::xmm(regs[5].id());
  if (is_load && is_three) a_.vmovups(other, e_.pool.first(4, 3));
  for (int first = 0; first < lanes; first += half) {
    const bool is_upper = first > 0;
    if (first == 4) next_lanes();
    for (int j = 0; j < count; ++j) {
      const ax::Vec r = regs[rows[j]];
      const int k = is_pair ? 2 * j : first % 4 + j;
      const bool is_end = is_three && (first + j == 0 || first + j == lanes - 1);
      const bool is_whole = !is_pair && (is_load ? !is_end : !is_three);
      ax::Xmm x = ax::xmm(r.id());
      if (is_whole && is_upper) {
        is_load ? a_.vinsertf128(r, r, lane(k), 1) : a_.vextractf128(lane(k), r, 1);
        continue;
      }
      if (is_whole) {
        is_load ? a_.vmovups(x, lane(k)) : a_.vmovups(lane(k), x);
        continue;
      }
      if (!is_load) {
        if (is_upper) a_.vextractf128(x, r, 1);
        a_.vmovlps(lane(k), x);
        is_pair ? a_.vmovhps(lane(k + 1), x) : a_.vextractps(lane(k, 8), x, 2);
        continue;
      }
      if (is_upper) x = other;
      if (is_pair) {
        a_.vmovsd(x, lane(k));
        a_.vmovhps(x, x, lane(k + 1));
      } else {
        a_.vmaskmovps(x, other, lane(k));
      }
      if (is_upper) a_.vinsertf128(r, r, x, 1);
    }
  }
}

}  // namespace tfvm::x86
