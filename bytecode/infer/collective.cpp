// Collectives over a named axis.
#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::at;
using infer::Shape;

namespace {
// The size of the named axis, which whoever knows the axis has written down.
bool named_size(InferCtx& c, std::int64_t& n) {
  n = c.has(Key::axis_size) ? c.get_int(Key::axis_size) : -1;
  return n >= 0 || c.fail("expected the size of axis \"" + std::string(c.t.attrs.get_str(c.attrs, Key::axis_name)) +
                          "\": no vmap here has that name");
}

bool infer_permute(InferCtx& c) {
  const Attr perm = c.t.attrs[c.t.attrs.get(c.attrs, Key::perm)];
  for (AttrId id : perm.items)
    if (c.t.attrs[id].ints.size() != 2) return c.fail("expected perm as pairs [from, to]");
  c.out.push_back(c.in[0]);
  return true;
}

bool infer_all_gather(InferCtx& c) {
  std::int64_t n = 0;
  if (!named_size(c, n) || !normalise_axis(c, Key::axis, infer::ssize(c.dims(0)) + 1)) return false;
  Shape out = infer::copy(c.dims(0));
  out.insert(out.begin() + c.get_int(Key::axis), n);
  return c.push(c.dtype(0), out);
}

// The split dim has the axis' size and goes; the lanes' parts stand at concat_axis.
bool infer_exchange(InferCtx& c) {
  std::int64_t n = 0;
  const std::int64_t rank = infer::ssize(c.dims(0));
  if (!named_size(c, n) || !normalise_axis(c, Key::split_axis, rank) || !normalise_axis(c, Key::concat_axis, rank))
    return false;
  Shape out = infer::copy(c.dims(0));
  const std::int64_t from = c.get_int(Key::split_axis);
  if (out[at(from)] != n)
    return infer::expect(c, "size " + std::to_string(n) + " of dim " + std::to_string(from) + ", as the named axis");
  out.erase(out.begin() + from);
  out.insert(out.begin() + c.get_int(Key::concat_axis), n);
  return c.push(c.dtype(0), out);
}
}  // namespace

bool infer_collective(InferCtx& c) {
  if (c.op == Op::ppermute) return infer_permute(c);
  return c.op == Op::all_gather ? infer_all_gather(c) : infer_exchange(c);
}

bool infer_axis_index(InferCtx& c) { return c.push(DType::I64, Dims{}); }

}  // namespace tfvm
