// Ops that say something about a value or act on the world.
#include <algorithm>

#include "bytecode/infer/steps.h"

namespace tfvm {

bool infer_identity(InferCtx& c) {
  c.out.assign(c.in.begin(), c.in.end());
  return true;
}

bool infer_assert(InferCtx&) { return true; }

bool infer_pack(InferCtx& c) {
  const FunctionId origin = c.has(Key::callee) ? c.t.attrs.get_func(c.attrs, Key::callee) : FunctionId{};
  c.out.push_back(c.t.types.pack(c.in, origin));
  return true;
}

bool infer_unpack(InferCtx& c) {
  if (c.type(0).kind != TypeKind::Pack) return infer::expect(c, "a pack");
  const auto items = c.type(0).items;
  c.out.assign(items.begin(), items.end());
  return true;
}

bool infer_global(InferCtx& c) { return c.push(c.t.attrs.get_dtype(c.attrs, Key::dtype), c.get_ints(Key::shape)); }

// The declaration of the op gives the result types, or the host's shape function.
bool infer_extern(InferCtx& c) {
  const Result<ExternArgs> args = extern_args(c.t, c.attrs, c.in.size());
  if (!args) {
    c.error = args.error().message;
    return false;
  }
  const ExternInfo* op = find_extern(c.t, c.attrs);
  Status s = op->infer(c.t, c.attrs, c.in, c.out);
  if (!s) c.error = std::move(s).error().message;
  return static_cast<bool>(s);
}

}  // namespace tfvm
