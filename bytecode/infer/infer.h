#pragma once
// Result types: one rule per row of the op table, in infer/<family>.cpp. A rule sees operands that have been checked
// against the row (counts, dtype groups and classes; equal shapes for elementwise ops) and attributes with all defaults
// filled in; it normalises the attributes (axes non-negative and sorted, perm and stride written out, -1 of reshape
// resolved), so that later passes meet one form, and pushes the result types. On failure it says what was expected and
// what came: "[reduce_sum] axis 3 is out of range for f32[2,3]".

#include <algorithm>
#include <string>
#include <vector>

#include "bytecode/tables.h"

namespace tfvm {

struct InferCtx {
  Tables& t;
  Op op;
  std::span<const TypeId> in;
  AttrId attrs;  // in: complete; out: normalised
  std::vector<TypeId>& out;
  std::string error;

  const Type& type(std::size_t k) const { return t.types[in[k]]; }
  Dims dims(std::size_t k) const { return t.types.dims(in[k]); }
  DType dtype(std::size_t k) const { return t.types.dtype(in[k]); }
  bool has(Key k) const { return t.attrs.has(attrs, k); }
  std::int64_t get_int(Key k) const { return t.attrs.get_int(attrs, k); }
  bool get_bool(Key k) const { return t.attrs.get_bool(attrs, k); }
  Ints get_ints(Key k) const { return t.attrs.get_ints(attrs, k); }
  // What is normalised already costs a comparison, no table.
  void set(Key k, Ints v) {
    const AttrId old = t.attrs.get(attrs, k);
    if (t.attrs[old].kind == AttrKind::Ints && std::ranges::equal(t.attrs[old].ints, v)) return;
    attrs = t.attrs.with(attrs, k, t.attrs.ints(v));
  }
  void set(Key k, std::int64_t v) { attrs = t.attrs.with(attrs, k, t.attrs.of(v)); }
  bool fail(std::string message);  // prefixes "[op] "; gives false
  bool push(DType d, Dims dims);   // refuses sizes that overflow; gives true where it went in
};

// Every row's rule: infer_<name>.
#define OP(id, name, kind, operands, attrs, infer, ...) bool infer_##infer(InferCtx&);
#include "bytecode/ops/all.def"
#undef OP

// Shared steps.
bool normalise_axis(InferCtx& c, Key key, std::int64_t rank);         // negative counts from the end
bool normalise_axes(InferCtx& c, Key key, std::int64_t rank);         // none = all; sorted; no duplicates
bool broadcast_dims(Dims a, Dims b, std::vector<std::int64_t>& out);  // numpy's rule; false where they clash

}  // namespace tfvm
