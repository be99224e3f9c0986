#include "vm/eager/custom.h"

#include <fmt/format.h>

#include "vm/eager/run.h"

namespace tfvm {

Result<std::shared_ptr<const EagerCustom>> custom_step(const Tables& t, const Body& body, const Instr& in,
                                                       const CustomOps& ops) {
  Result<ExternArgs> args = extern_args(t, in.attrs, in.operands.size());
  if (!args) return std::move(args).error();
  const std::string op(t.attrs.get_str(in.attrs, Key::op));
  const auto it = ops.find(op);
  if (it == ops.end())
    return Error(Code::Unsupported, fmt::format("[{}] is declared, but the host has registered no kernel for it", op));
  auto c = std::make_shared<EagerCustom>();
  c->op = it->second;
  c->counts = std::move(args->counts);
  for (const ExternParam& p : find_extern(t, in.attrs)->params) c->mut.push_back(p.mut);
  for (std::uint32_t k = 0; k < in.num_results; ++k) {
    const TypeId type = body.type(in.result(k));
    const Dims dims = t.types.dims(type);
    c->results.push_back({t.types.dtype(type), {dims.begin(), dims.end()}, t.types.bytes(type), false});
  }
  return std::shared_ptr<const EagerCustom>(std::move(c));
}

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
