#include "transforms/split/coefficients.h"

#include <algorithm>
#include <cmath>

namespace tfvm {

namespace {

struct Product {
  ValueId factor = kNoValue;  // of the known part
  ValueId of = kNoValue;      // of the source
};

class Composer {
 public:
  Composer(Builder& known, const Body& source, const std::vector<ValueId>& map, std::vector<SplitStep>& steps)
      : known_(known), source_(source), map_(map), steps_(steps), products_(source.num_values()) {}

  void run(const Mask& wanted) {
    count(wanted);
    for (SplitStep& s : steps_) step(s);
  }

 private:
  void refs(const SplitStep& s) {
    refs_.assign(s.operands.begin(), s.operands.end());
    if (!s.whole) return;
    for (ValueId v : source_.instr(s.origin).operands) {
      const ValueId here = map_[index(v)];
      refs_.push_back({here != kNoValue, here != kNoValue ? here : v});
    }
  }

  void count(const Mask& wanted) {
    uses_.assign(source_.num_values(), 0);
    known_uses_.assign(known_.body().num_values(), 0);
    for (const SplitStep& s : steps_) {
      refs(s);
      for (const SplitRef& r : refs_) ++(r.known ? known_uses_ : uses_)[index(r.v)];
    }
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (wanted[k]) ++uses_[index(source_.results[k])];
  }

  void step(SplitStep& s) {
    if (!s.whole) return;
    const Instr in = source_.instr(s.origin);
    if (in.op != Op::mul && in.op != Op::zmul) return;
    const TypeId type = source_.type(in.result());
    const DType d = known_.tables().types.dtype(type);
    if (d != DType::F32 && d != DType::F64) return;
    refs(s);
    const int k = refs_[0].known ? 0 : 1;
    if (refs_[0].known == refs_[1].known || known_.type(refs_[static_cast<std::size_t>(k)].v) != type) return;
    Product p{refs_[static_cast<std::size_t>(k)].v, refs_[static_cast<std::size_t>(1 - k)].v};
    const Product inner = products_[index(p.of)];
    if (inner.factor != kNoValue && uses_[index(p.of)] == 1 && known_.type(inner.factor) == type &&
        ((is_number(p.factor) && is_made(inner.factor)) || (is_number(inner.factor) && is_made(p.factor)))) {
      known_.set_origin(s.origin);
      p = {known_.emit(Op::mul, {inner.factor, p.factor}), inner.of};
      if (known_.failed()) return;
      s = {Op::zmul, in.attrs, {{true, p.factor}, {false, p.of}}, {in.result()}, s.origin, false};
    }
    products_[index(in.result())] = p;
  }

  bool is_number(ValueId v) const {
    const std::optional<ConstId> c = known_.splat_of(v);
    if (!c) return false;
    const double x = std::fabs(known_.tables().consts.as_double(*c));
    return x >= 0x1p-16 && x <= 0x1p16;
  }

  // By an instruction of this function, for one step only. What the composer has made is used by one.
  bool is_made(ValueId v) const {
    if (index(v) < known_.body().num_params || known_.splat_of(v)) return false;
    return index(v) >= known_uses_.size() || known_uses_[index(v)] == 1;
  }

  Builder& known_;
  const Body& source_;
  const std::vector<ValueId>& map_;
  std::vector<SplitStep>& steps_;
  std::vector<Product> products_;  // per value of the source
  std::vector<std::uint32_t> uses_, known_uses_;
  std::vector<SplitRef> refs_;  // scratch: the operands of a step
};

}  // namespace

void compose_coefficients(Builder& known, const Body& source, const std::vector<ValueId>& map, const Mask& wanted,
                          std::vector<SplitStep>& steps) {
  Composer(known, source, map, steps).run(wanted);
}

}  // namespace tfvm
