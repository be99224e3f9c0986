#pragma once
// How cases are written down: operands in letters, attributes beside them, and functions for the ops that take some. A
// family is a member of Maker: cases for each of its ops, among them scalars and zero-size tensors.

#include "bytecode/builder.h"
#include "tests/transforms/op_cases.h"

namespace tfvm::testing {

namespace letters {

using D = std::vector<std::int64_t>;
using Params = std::vector<ValueId>;

inline OpOperand x(D dims) { return {std::move(dims)}; }
inline OpOperand p(D dims) { return {std::move(dims), OpRole::Predicate}; }
inline OpOperand i(D dims, std::int64_t low, std::int64_t high) { return {std::move(dims), OpRole::Index, low, high}; }
inline OpOperand key(D lanes) {
  lanes.push_back(2);
  return {std::move(lanes), OpRole::Key};
}

}  // namespace letters

struct Maker {
  Tables& t;
  DType group;
  std::vector<OpCase> out;

  void add(std::vector<OpOperand> operands, std::initializer_list<AttrArg> attrs = {}) {
    out.push_back({std::move(operands), attrs.size() ? t.attrs.dict(attrs) : t.attrs.empty()});
  }
  AttrId list(const letters::D& a, const letters::D& b) {
    const AttrId items[] = {t.attrs.ints(a), t.attrs.ints(b)};
    return t.attrs.list(items);
  }
  AttrId padding(const letters::D& low, const letters::D& high) {
    std::vector<AttrId> items;
    for (std::size_t k = 0; k < low.size(); ++k) items.push_back(t.attrs.ints(letters::D{low[k], high[k]}));
    return t.attrs.list(items);
  }
  TypeId type(const OpOperand& o) const { return t.types.tensor(dtype_of(o, group), Dims(o.dims)); }
  template <class Code>
  FunctionId function(std::vector<TypeId> params, Code code) {
    Builder b(t, {}, "f");
    letters::Params v;
    for (TypeId type : params) v.push_back(b.param(type));
    const Result<FunctionId> f = b.seal(code(b, v));
    return f ? *f : FunctionId{};
  }
  FunctionId sum();

  void elementwise(Op op);
  void shape(Op op);
  void index(Op op);
  void reduce(Op op);
  void gather(std::string_view mode, std::string_view combine);  // of scatter where `combine` is given
  void window(const letters::D& whole, const letters::D& idx, const letters::D& windows, const letters::D& sizes,
              const letters::D& offset, const letters::D& dropped, const letters::D& map, std::int64_t vector_dim,
              std::string_view mode, std::string_view combine);
  void reduce_window();
  void select_and_scatter();
  void sort(Op op);
  void dot();
  void conv();
  void random(Op op);
  void control(Op op);
  void collective(Op op);
  void meta(Op op);
};

}  // namespace tfvm::testing
