#pragma once
// concat without copies: pieces that are made in their places of the whole.

#include "vm/plan/updates.h"

namespace tfvm {

// Of a base that is a piece: the base that it is in, which may be a piece itself, and where it begins there.
struct Piece {
  std::uint32_t whole = kNoIndex;
  std::int64_t offset = 0;  // in bytes
};

// What a step that is a concat was made of; null: another item.
const ItemSource* concat_of(const PlanParts& parts, const FuseItem& item);

// All of a value, in memory that nothing but it has.
bool is_value_of_its_own(const PlanParts& parts, const Access& a, ValueId v);

// Drops the steps of concats along the outermost dim whose operands are whole values, each made by a nest or a kernel
// for memory of its own. Gives a Piece for each base; empty: nothing was dropped. `epilogues`: of find_epilogues.
std::vector<Piece> join_pieces(const PlanParts& parts, std::vector<FuseItem>& items,
                               std::vector<std::uint8_t>& epilogues);

// A whole is written when its first piece is, and read as long as it or any piece is. No other value takes over the
// memory of a piece: pieces are read to the end.
void join_uses(std::span<const Piece> pieces, BaseUses& uses);

}  // namespace tfvm
