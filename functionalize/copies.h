#pragma once
// What reinplace copied because something still reads it: elements of a storage that were overwritten, or of a new
// value that stands nowhere else. A value that was made before is read from the copy from then on.

#include "functionalize/regions.h"

namespace tfvm::functional {

struct Copy {
  std::uint32_t instr;  // when: values made before have it
  ValueId root;         // the storage
  ValueId made;         // kNoValue, or the one value that has it
  Strided place;        // which elements
  ValueId value;        // of the new body: a row-major tensor of place's shape
};

class Copies {
 public:
  Copies(const Body& body, const Regions& regions);
  void view(const Instr& in);          // in order: a view is of its operand's generation
  void views_behind(std::uint32_t i);  // all at once
  void add(Copy c) { copies_.push_back(std::move(c)); }
  // Where v was copied: v as a view of the copy; once, then it counts as moved.
  struct Found {
    ValueId copy;
    Strided view;
  };
  std::optional<Found> find(ValueId v);
  bool is_moved(ValueId v) const { return moved_[index(v)] != 0; }
  bool covers(ValueId v, const Strided& place) const;

 private:
  bool is_of(const Copy& c, ValueId v) const;
  const Body& body_;
  const Regions& regions_;
  std::vector<InstrId> defs_;
  std::vector<ValueId> made_;        // per value: the base that it is, or is a view of, as it was made
  std::vector<std::uint8_t> moved_;  // values that are read from a copy
  std::vector<Copy> copies_;         // in order of instructions
};

}  // namespace tfvm::functional
