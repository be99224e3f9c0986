// Custom ops: the host's C functions as kernels of the VM.
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "vm/capi/handles.h"
#include "vm/custom_op.h"

namespace {

using namespace tfvm;
using capi::guarded;
using capi::misuse;

constexpr std::size_t kMaxResults = 16;

using Views = InlineVector<tfvm_view, 16>;

const std::vector<Tensor>& tensors_of(const CustomArg& arg) { return arg.tensors; }
const CustomArgType& tensors_of(const CustomArgType& arg) { return arg; }

// Arguments as C sees them. The views point into the tensors.
struct Arguments {
  Views views;
  InlineVector<tfvm_op_argument, 16> list;

  template <class Args, class View>
  Arguments(const Args& args, View view) {
    for (const auto& arg : args)
      for (const auto& x : tensors_of(arg)) views.push_back(view(x));
    std::size_t at = 0;
    for (const auto& arg : args) {
      list.push_back({views.data() + at, tensors_of(arg).size()});
      at += tensors_of(arg).size();
    }
  }
  Arguments(const Arguments&) = delete;
};

tfvm_view view_of(const Tensor& t) {
  tfvm_view v = TFVM_VIEW;
  capi::fill_view(v, t.dtype(), t.layout().dims, t.layout().strides.data(), t.data());
  return v;
}

Status run(const tfvm_op& op, std::string_view name, std::span<const CustomArg> args, std::span<const Tensor> results) {
  const Arguments in(args, view_of);
  Views out;
  for (const Tensor& t : results) out.push_back(view_of(t));
  char message[256] = "";
  if (op.kernel(op.user, in.list.data(), in.list.size(), out.data(), out.size(), message, sizeof message) == 0)
    return ok();
  message[sizeof message - 1] = 0;
  return Error(Code::Assert, fmt::format("[{}] {}", name, *message ? message : "the kernel failed"));
}

Result<std::vector<TensorType>> shape(const tfvm_op& op, std::string_view name, std::span<const CustomArgType> args) {
  const Arguments in(args, [](const TensorType& t) {
    tfvm_view v = TFVM_VIEW;
    capi::fill_view(v, t.dtype, t.dims, nullptr, nullptr);
    return v;
  });
  tfvm_op_type types[kMaxResults] = {};
  const int count = op.shape(op.user, in.list.data(), in.list.size(), types, kMaxResults);
  if (count < 0 || count > static_cast<int>(kMaxResults))
    return Error(Code::Type, fmt::format("[{}] the host's op refuses these arguments", name));
  std::vector<TensorType> out;
  for (const tfvm_op_type& t : std::span(types, static_cast<std::size_t>(count))) {
    const bool known = tfvm_dtype_bytes(t.dtype) > 0 && t.rank >= 0 && t.rank <= TFVM_MAX_RANK;
    if (!known || std::any_of(t.dims, t.dims + t.rank, [](std::int64_t n) { return n < 0; }))
      return Error(Code::Type, fmt::format("[{}] the host's op gives a type that is none", name));
    out.push_back({static_cast<DType>(t.dtype), {t.dims, t.dims + t.rank}});
  }
  return out;
}

}  // namespace

extern "C" tfvm_status tfvm_register_op(tfvm_vm* vm, const char* name, const tfvm_op* op, tfvm_error* error) noexcept {
  if (!vm || !name || !op) return misuse(error, "a VM, a name and an op are needed");
  return guarded(error, [&]() -> tfvm_status {
    const auto given = capi::read_struct(op, offsetof(tfvm_op, derivative));
    if (!given || !given->kernel) return misuse(error, "the op's size or its kernel is not set");
    CustomOp made;
    made.strided = given->strided != 0;
    made.kernel = [o = *given, n = std::string(name)](std::span<const CustomArg> args,
                                                      std::span<const Tensor> results) {
      return run(o, n, args, results);
    };
    const auto text = [](const char* rule) { return std::string(rule ? rule : ""); };
    made.rules = {text(given->derivative), text(given->custom_jvp), text(given->custom_vjp_fwd),
                  text(given->custom_vjp_bwd), text(given->custom_vmap)};
    if (made.rules.forward.empty() != made.rules.backward.empty())
      return misuse(error, "custom_vjp needs both its functions");
    if (given->shape)
      made.shape = [o = *given, n = std::string(name)](std::span<const CustomArgType> args) {
        return shape(o, n, args);
      };
    vm->vm->register_op(name, std::move(made));
    return TFVM_OK;
  });
}
