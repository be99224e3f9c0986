#include "vm/custom_op.h"

#include <fmt/format.h>

#include "bytecode/tables.h"
#include "vm/context.h"
#include "vm/eager/view.h"

namespace tfvm {

ExternInfer by_shape_function(CustomOpRef op) {
  return [op](Tables& t, AttrId attrs, std::span<const TypeId> operands, std::vector<TypeId>& results) -> Status {
    const Result<ExternArgs> counts = extern_args(t, attrs, operands.size());
    if (!counts) return counts.error();
    std::vector<CustomArgType> args;
    std::size_t at = 0;
    for (std::size_t n : counts->counts) {
      CustomArgType& arg = args.emplace_back();
      for (; n > 0; --n, ++at) {
        const Type& type = t.types[operands[at]];
        if (!type.is_tensor()) return Error(Code::Type, "[extern] custom ops take tensors");
        arg.push_back({type.dtype, {type.dims.begin(), type.dims.end()}});
      }
    }
    const auto types = op->shape(args);
    if (!types) return types.error();
    for (const TensorType& type : *types) {
      if (!checked_elements(type.dims)) return Error(Code::Type, "[extern] the size of a result overflows");
      results.push_back(t.types.tensor(type.dtype, type.dims));
    }
    return ok();
  };
}

Status run_custom(const CustomOp& op, std::string_view name, std::span<CustomArg> args,
                  std::span<const std::uint8_t> mut, std::span<const Tensor> results, const Context& context,
                  std::vector<CustomBack>& back) {
  back.clear();
  for (std::size_t k = 0; k < args.size(); ++k) {
    for (Tensor& t : args[k].tensors) {
      if (mut[k] && overlaps_itself(t.layout()))
        return Error(Code::Type, fmt::format("[{}] can't write into an expanded or overlapping view: {} has elements "
                                             "that share a place; clone it first",
                                             name, t.type_text()));
      if (op.strided || t.is_row_major()) continue;
      Result<Tensor> apart = context.clone(t);
      if (!apart) return std::move(apart).error();
      if (mut[k]) back.push_back({t, *apart});
      t = *std::move(apart);
    }
  }
  if (Status done = op.kernel(args, results); !done) return done;
  for (const CustomBack& b : back)
    copy_elements(b.to.layout(), b.to.base(), b.from.layout(), b.from.base(), size_of(b.to.dtype()));
  back.clear();
  return ok();
}

}  // namespace tfvm
