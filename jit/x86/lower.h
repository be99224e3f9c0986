#pragma once
// From the nodes of a nest to lane code.

#include <map>
#include <utility>

#include "jit/x86/lane_code.h"
#include "jit/x86/shape.h"

namespace tfvm::x86 {

class Lowering {
 public:
  // How strong-zero products are made: as products, with a call where one is NaN; as products, with LaneOp::Check where
  // the end may be NaN; or as they are written.
  enum class Zeros : std::uint8_t { Rare, Checked, Exact };

  Lowering(const NestShape& shape, LaneCode& code, Zeros zeros = Zeros::Rare)
      : shape_(shape), code_(code), zeros_(zeros) {}
  void run();
  void store(const ShapeStore& s, const std::vector<LaneId>& parts);

  Zeros zeros() const { return zeros_; }
  bool has_checks() const { return has_checks_; }
  // Sums and products of what may be NaN by a strong-zero product are NaN then: they are asked at their end, not here.
  void ask_sums_at_end() { asks_sums_at_end_ = true; }
  const std::vector<std::uint32_t>& sums_to_ask() const { return sums_to_ask_; }  // reductions
  // Adds the masks of lanes where one of these is NaN.
  void find_nan(int width, const std::vector<LaneId>& parts, std::vector<LaneId>& masks);
  // A check that no lane of the masks is set.
  void check(int width, const std::vector<LaneId>& masks);

  // Where loads of packed accesses are, by access and displacement.
  using Packed = std::map<std::pair<std::uint32_t, std::uint64_t>, Place>;
  void use(const Packed& packed) { packed_ = &packed; }

  // For the rows below.
  LaneCode& code() { return code_; }
  const Lanes& value(std::uint32_t node) const { return values_[node]; }
  DType dtype(std::uint32_t node) const { return values_[node].dtype; }
  int parts(DType d) const { return code_.parts(static_cast<int>(size_of(d))); }
  // The masks of a bool value in lanes of 4 or of 8 bytes.
  const std::vector<LaneId>& masks(std::uint32_t node, int width);
  // The width in which a bool value is at hand.
  int mask_width(std::uint32_t node) const { return values_[node].parts.empty() ? 8 : 4; }
  // An i64 value that is a narrow iota or a small constant, as i32; empty for all others.
  std::vector<LaneId> narrow(std::uint32_t node);
  // `parts` of dtype `from` converted: rows of the op cast, and iota.
  bool cast(DType from, DType to, const std::vector<LaneId>& parts, Lanes& out);
  // f32 lanes as values of f16 or bf16.
  std::vector<LaneId> rounded(const std::vector<LaneId>& parts, DType to);
  // op(a, b), all of one dtype, not bool; any number of parts.
  Lanes combine(Op op, const Lanes& a, const Lanes& b);
  // The lanes of a bool value as 0 and 1, any other value itself.
  Lanes combined(std::uint32_t node);
  // The block interpreter's function on the operands, for lanes of `masks` (none: for all).
  void call(const NestNode& n, std::vector<LaneId> masks, std::vector<LaneId> usual, Lanes& out);

 private:
  void node(const NestNode& n, Lanes& out);
  void pick(const NestNode& n, Lanes& out);
  std::vector<LaneId> iota(std::uint32_t access, int width);

  void check();

  const NestShape& shape_;
  LaneCode& code_;
  const Zeros zeros_;
  bool has_checks_ = false, asks_sums_at_end_ = false;
  std::vector<std::uint32_t> sums_to_ask_;
  const Packed* packed_ = nullptr;
  std::vector<Lanes> values_;
};

// An op as lane code; false: not for these dtypes.
using LowerFn = bool (*)(Lowering& low, const NestNode& n, Lanes& out);

// The families of rows; null: no row for the op.
LowerFn find_float_row(Op op);
LowerFn find_int_row(Op op);
LowerFn find_compare_row(Op op);  // comparisons, predicates, select, ops of bools
LowerFn find_cast_row(Op op);

template <std::size_t N, class Row>
LowerFn find_lower_row(const Row (&rows)[N], Op op) {
  for (const Row& r : rows)
    if (r.op == op) return r.fn;
  return nullptr;
}

struct LowerRow {
  Op op;
  LowerFn fn;
};

inline bool is_float_lane(DType d) { return d == DType::F32 || d == DType::F64; }

}  // namespace tfvm::x86
