#include "transforms/simplify/contract.h"

#include <algorithm>
#include <map>

#include "bytecode/callees.h"
#include "bytecode/rewriter.h"
#include "transforms/simplify/inline_calls.h"

namespace tfvm {

namespace {

class Contract {
 public:
  Contract(TransformEnv& env, FunctionId f) : env_(env), f_(f), body_(env.tables.bodies[f.body]) {}

  Result<FunctionId> run() {
    if (body_.full) return f_;
    find_products();
    Builder b(env_.tables, env_.options, f_, "");
    Rewriter w(b, f_);
    for (std::uint32_t i = 0; i < body_.num_instrs() && !b.failed(); ++i) {
      const Instr in = body_.instr(i);
      if (info(in.op).kind == OpKind::Control) {
        if (Status s = control(b, w, i, in); !s) return std::move(s).error();
      } else if (!sum(b, w, i, in)) {
        w.copy(static_cast<InstrId>(i));
      }
    }
    return w.seal();
  }

 private:
  // Per value: the product that it is, where one instruction uses it, once; else kNoIndex.
  void find_products() {
    product_.assign(body_.num_values(), kNoIndex);
    std::vector<std::uint32_t> uses(body_.num_values(), 0);
    for (ValueId v : body_.results) uses[index(v)] += 2;
    for (std::uint32_t i = 0; i < body_.num_instrs(); ++i)
      for (ValueId v : body_.instr(i).operands) ++uses[index(v)];
    for (std::uint32_t i = 0; i < body_.num_instrs(); ++i) {
      const Instr in = body_.instr(i);
      if ((in.op != Op::mul && in.op != Op::zmul) || uses[index(in.result(0))] != 1) continue;
      const DType d = env_.tables.types.dtype(body_.type(in.result(0)));
      if (d == DType::F32 || d == DType::F64) product_[index(in.result(0))] = i;
    }
  }

  Status control(Builder& b, Rewriter& w, std::uint32_t i, const Instr& in) {
    w.begin(static_cast<InstrId>(i));
    const Result<AttrId> attrs =
        map_callees(env_.tables.attrs, in.attrs, [&](FunctionId g) { return contract(env_, g); });
    if (!attrs) return attrs.error();
    const std::vector<ValueId> results = b.emit_all(in.op, w.operands(in), *attrs);
    for (std::uint32_t k = 0; k < results.size(); ++k) {
      w.map(in.result(k), results[k]);
      b.name_from(results[k], in.result(k));
    }
    return ok();
  }

  // x y and y x are one product.
  struct Product {
    Op op;
    ValueId x, y;
    auto operator<=>(const Product&) const = default;
  };
  Product of(Rewriter& w, const Instr& mul) {
    const ValueId x = w(mul.operands[0]), y = w(mul.operands[1]);
    return {mul.op, std::min(x, y), std::max(x, y)};
  }
  void set(Builder& b, Rewriter& w, const Instr& in, ValueId v) {
    w.map(in.result(0), v);
    b.name_from(v, in.result(0));
  }

  // A sum with a product as fma, or zfma; where both are products the first one is taken, unless the sum of both is
  // there already. The product is dead then. Twice the same product is no sum of two.
  bool sum(Builder& b, Rewriter& w, std::uint32_t i, const Instr& in) {
    if (in.op != Op::add && in.op != Op::sub) return false;
    const std::uint32_t products[] = {product_[index(in.operands[0])], product_[index(in.operands[1])]};
    const int k = products[0] != kNoIndex ? 0 : 1;
    if (products[k] == kNoIndex) return false;
    const Instr mul = body_.instr(products[k]);
    const Product p = of(w, mul);
    const bool is_of_two = in.op == Op::add && products[1 - k] != kNoIndex;
    const Product q = is_of_two ? of(w, body_.instr(products[1 - k])) : Product{};
    if (is_of_two && p == q) return false;
    w.begin(static_cast<InstrId>(i));
    const std::pair<Product, Product> key = std::minmax(p, q);
    if (const auto it = is_of_two ? sums_.find(key) : sums_.end(); it != sums_.end()) {
      set(b, w, in, it->second);
      return true;
    }
    ValueId x = w(mul.operands[0]), z = w(in.operands[1 - k]);
    if (in.op == Op::sub) (k == 0 ? z : x) = b.emit(Op::neg, {k == 0 ? z : x});
    const ValueId r = b.emit(p.op == Op::zmul ? Op::zfma : Op::fma, {x, w(mul.operands[1]), z});
    if (is_of_two) sums_.emplace(key, r);
    set(b, w, in, r);
    return true;
  }

  TransformEnv& env_;
  const FunctionId f_;
  const Body body_;  // a copy: tables grow
  std::vector<std::uint32_t> product_;
  std::map<std::pair<Product, Product>, ValueId> sums_;  // of two products
};

}  // namespace

Result<FunctionId> contract(TransformEnv& env, FunctionId f) {
  if (const PassResult* r = env.memo.find("contract", f, {})) return r->f;
  // Products are added by callers and by callees: of derived functions many are small.
  const Result<FunctionId> flat = inline_calls(env, f, {48, 1024});
  if (!flat) return flat;
  const Result<FunctionId> made = Contract(env, *flat).run();
  if (made) env.memo.add("contract", f, {}, {*made, {}, {}, {}});
  return made;
}

}  // namespace tfvm
