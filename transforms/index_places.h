#pragma once
// What the rules of the index family share.

#include "bytecode/builder.h"
#include "bytecode/rewriter.h"

namespace tfvm {

// bool, as idx: the place is in [0, n).
ValueId places_inside(Builder& b, ValueId idx, std::int64_t n);

// A value with the dims of take's idx, with dims of size 1 for those dims of x (of rank `rank`) that stand before and
// after them in take's result.
ValueId align_places(Builder& b, ValueId idx, std::int64_t axis, std::int64_t rank);

// The two sides of an update, `scatter` or `scatter_along`: writing updates u[U…] at places of x[X…], and reading at
// the same places, by gather or take_along.
struct Update {
  Builder& b;
  const Instr& in;  // of the update: its attributes
  ValueId idx;      // where
  Dims x, u;

  std::string_view mode() const;
  std::string_view combine() const;
  // X… from U…, both of any dtype.
  ValueId write(ValueId to, ValueId from, std::string_view combine) const;
  // U… from X…, with the update's mode or another one.
  ValueId read(ValueId from, std::string_view mode) const;
  ValueId read(ValueId from) const { return read(from, mode()); }
  // bool[U…]: the update has a place (with mode "fill" it need not).
  ValueId is_inside() const;
  // i64[U…]: the row-major number in X… of the place of each update, from 1; 0 where it has none.
  ValueId numbers() const;
};

// 1, 2, 3, … as i64[dims].
ValueId count_up(Builder& b, Dims dims);

// The attributes of the scatter that writes where a gather reads.
AttrId scatter_attrs(Tables& t, AttrId gather, std::string_view combine);

}  // namespace tfvm
