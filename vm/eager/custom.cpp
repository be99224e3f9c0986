// The step of a custom op, on the tensors themselves.
#include "vm/eager/run.h"

namespace tfvm {

Status EagerRun::custom(const EagerStep& s, Frame& f) {
  const EagerCustom& c = *s.custom;
  std::vector<CustomArg> args;
  std::size_t at = 0;
  for (std::size_t n : c.counts) {
    args.push_back({f.take(s.in, at, n)});
    at += n;
  }
  std::vector<Tensor> out;
  for (const ValueType& type : c.results) {
    Result<Tensor> t = Tensor::make(context_.budget(), type.dtype, type.dims);
    if (!t) return std::move(t).error();
    out.push_back(*std::move(t));
  }
  if (Status done = run_custom(*c.op, s.name, std::move(args), c.mut, out, context_.budget()); !done) return done;
  for (std::size_t k = 0; k < s.out.size(); ++k) f.slots[s.out[k]] = std::move(out[k]);
  return ok();
}

}  // namespace tfvm
