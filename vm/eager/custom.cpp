#include "vm/eager/custom.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/eager/run.h"

namespace tfvm {

Result<std::shared_ptr<const EagerCustom>> custom_step(const Tables& t, const Body& body, const Instr& in,
                                                       const CustomOps& ops) {
  const Result<ExternArgs> args = extern_counts(t, in.attrs);
  if (!args) return args.error();
  const std::string op(t.attrs.get_str(in.attrs, Key::op));
  const auto it = ops.find(op);
  if (it == ops.end())
    return Error(Code::Unsupported, fmt::format("[{}] is declared, but the host has registered no kernel for it", op));
  auto c = std::make_shared<EagerCustom>();
  c->op = it->second;
  for (const ExternParam& p : find_extern(t, in.attrs)->params) c->mut.push_back(p.mut);
  c->counts = args->counts;
  for (std::uint32_t k = 0; k < in.num_results; ++k) {
    const TypeId type = body.type(in.result(k));
    const Dims dims = t.types.dims(type);
    c->results.push_back({t.types.dtype(type), {dims.begin(), dims.end()}, t.types.bytes(type), false});
  }
  return std::shared_ptr<const EagerCustom>(std::move(c));
}

Status EagerRun::custom(const EagerStep& s, Frame& f) {
  const EagerCustom& c = *s.custom;
  if (custom_args_.size() < c.counts.size()) custom_args_.resize(c.counts.size());
  const std::span args = std::span(custom_args_).first(c.counts.size());
  std::size_t at = 0;
  for (std::size_t k = 0; k < args.size(); at += c.counts[k++]) {
    args[k].tensors.clear();
    f.take(s.in, at, c.counts[k], args[k].tensors);
  }
  out_.clear();
  for (const ValueType& type : c.results) {
    Result<Tensor> t = context_.make(type.dtype, type.dims);
    if (!t) return std::move(t).error();
    out_.push_back(*std::move(t));
  }
  for (std::size_t k = 0; k < args.size(); ++k)
    for (const Tensor& t : args[k].tensors)
      if (c.mut[k] && t && t.storage()) t.storage()->written(s.site);
  const Status done = run_custom(*c.op, s.name, args, c.mut, out_, context_, custom_back_);
  for (CustomArg& arg : args) arg.tensors.clear();
  if (done) f.give(s.out, out_);
  return done;
}

}  // namespace tfvm
