// Counter-based random bits. Keys are u32[..,2]; leading dims are a key for each lane.
#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::Shape;

namespace {
bool check_key(InferCtx& c, Dims& lanes) {
  const Dims d = c.dims(0);
  if (c.dtype(0) != DType::U32 || d.empty() || d.back() != 2) return infer::expect(c, "a key u32[..,2]");
  lanes = d.first(d.size() - 1);
  return infer::one_of(c, Key::algorithm, {"philox4x32", "threefry2x32"});
}
}  // namespace

bool infer_rng_bits(InferCtx& c) {
  Dims lanes;
  if (!check_key(c, lanes)) return false;
  const DType dtype = c.t.attrs.get_dtype(c.attrs, Key::dtype);
  if (!is_unsigned(dtype)) return c.fail("expected an unsigned integer dtype, got " + std::string(name(dtype)));
  Shape out = infer::copy(lanes);
  const Ints shape = c.get_ints(Key::shape);
  out.insert(out.end(), shape.begin(), shape.end());
  return c.push(dtype, out);
}

bool infer_rng_split(InferCtx& c) {
  Dims lanes;
  if (!check_key(c, lanes)) return false;
  Shape out = infer::copy(lanes);
  out.push_back(c.get_int(Key::n));
  out.push_back(2);
  return c.push(DType::U32, out);
}

bool infer_rng_fold_in(InferCtx& c) {
  Dims lanes;
  Shape out;
  if (!check_key(c, lanes)) return false;
  if (!broadcast_dims(lanes, c.dims(1), out)) return infer::expect(c, "data that broadcasts with the keys' lanes");
  out.push_back(2);
  return c.push(DType::U32, out);
}

}  // namespace tfvm
