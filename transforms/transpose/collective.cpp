// Collectives are linear maps of all lanes together: the cotangent of a lane's operand is what all lanes' results send
// back to it.
#include "transforms/transpose/rules.h"

namespace tfvm {

namespace {

ValueId sum(TransposeCtx& c, ValueId v) {
  return c.b.emit(Op::psum, {v}, {{Key::axis_name, c.attrs().get_str(c.in.attrs, Key::axis_name)}});
}

}  // namespace

void transpose_psum(TransposeCtx& c) { c.add(0, sum(c, c.ct())); }

// Every lane has a copy of every lane's value: their cotangents are summed, and each lane takes its own.
void transpose_all_gather(TransposeCtx& c) {
  const ValueId own = c.b.emit(Op::axis_index, {}, {{Key::axis_name, c.attrs().get_str(c.in.attrs, Key::axis_name)}});
  c.add(0, c.b.emit(Op::take, {sum(c, c.ct()), own},
                    {{Key::axis, c.attrs().get_int(c.in.attrs, Key::axis)}, {Key::mode, "clip"}}));
}

void transpose_ppermute(TransposeCtx& c) {
  AttrTable& at = c.tables().attrs;
  std::vector<AttrId> pairs(at[at.get(c.in.attrs, Key::perm)].items.begin(),
                            at[at.get(c.in.attrs, Key::perm)].items.end());
  for (AttrId& pair : pairs) {
    const std::int64_t back[] = {at[pair].ints[1], at[pair].ints[0]};
    pair = at.ints(back);
  }
  const ValueId ct = c.ct();
  c.add(0, c.b.emit(Op::ppermute, std::span(&ct, 1), at.with(c.in.attrs, Key::perm, at.list(pairs))));
}

void transpose_all_to_all(TransposeCtx& c) {
  AttrTable& at = c.tables().attrs;
  const AttrId split = at.get(c.in.attrs, Key::split_axis), concat = at.get(c.in.attrs, Key::concat_axis);
  const ValueId ct = c.ct();
  c.add(0, c.b.emit(Op::all_to_all, std::span(&ct, 1),
                    at.with(at.with(c.in.attrs, Key::split_axis, concat), Key::concat_axis, split)));
}

}  // namespace tfvm
