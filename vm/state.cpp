#include "vm/state.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "vm/safetensors/safetensors.h"

namespace tfvm {

namespace {

Result<NamedTensors> read_folder(VM& vm, const std::string& folder) {
  NamedTensors out;
  for (const auto& [name, tensor] : state(vm)) {
    Result<Tensor> t = read_npy(folder + name + ".npy", vm.budget());
    if (!t) return std::move(t).error();
    out.emplace_back(name, *std::move(t));
  }
  return out;
}

}  // namespace

NamedTensors state(VM& vm) {
  const std::lock_guard guard(vm.lock());
  NamedTensors out;
  for (std::size_t k = 0; k < vm.globals().size(); ++k)
    out.emplace_back(vm.tables().strings[vm.module().globals[k].name], vm.globals()[k]);
  return out;
}

Status set_state(VM& vm, const NamedTensors& tensors) {
  const NamedTensors own = state(vm);
  std::map<std::string_view, const Tensor*> given;
  for (const auto& [name, t] : tensors)
    if (!given.emplace(name, &t).second) return Error(Code::Name, fmt::format("the state has @{} twice", name));
  for (const auto& [name, t] : own) {
    const auto it = given.find(name);
    if (it == given.end()) return Error(Code::Name, fmt::format("the state has no @{}", name));
    const Tensor& v = *it->second;
    if (v.dtype() != t.dtype() || v.layout().dims != t.layout().dims)
      return Error(Code::Type, fmt::format("@{} is {}, the state has {}", name, t.type_text(), v.type_text()));
  }
  for (const auto& [name, t] : tensors)
    if (std::ranges::none_of(own, [&](const auto& o) { return o.first == name; }))
      return Error(Code::Name, fmt::format("the program has no param or buffer @{}", name));
  for (const auto& [name, t] : own) {
    given[name]->copy_to({t.data(), static_cast<std::size_t>(t.bytes())});
    t.storage()->written(0);
  }
  return ok();
}

Status save_state(VM& vm, const std::string& path) {
  const NamedTensors tensors = state(vm);
  if (path.ends_with(".safetensors")) return write_safetensors(path, tensors);
  if (path.ends_with(".npz")) return write_npz(path, tensors);
  if (!path.ends_with('/'))
    return Error(
        Code::Io,
        fmt::format("'{}': a state goes to .safetensors, .npz, or a folder, written with a / at its end", path));
  for (const auto& [name, t] : tensors)
    if (Status s = write_npy(path + name + ".npy", t); !s) return s;
  return ok();
}

Status load_state(VM& vm, const std::string& path) {
  Result<NamedTensors> tensors =
      path.ends_with(".safetensors") ? read_safetensors(path, vm.budget())
      : path.ends_with(".npz")       ? read_npz(path, vm.budget())
      : path.ends_with('/')
          ? read_folder(vm, path)
          : Result<NamedTensors>(
                Error(Code::Io,
                      fmt::format("'{}' is no .safetensors, no .npz and no folder written with a / at its end", path)));
  if (!tensors) return std::move(tensors).error();
  Status s = set_state(vm, *tensors);
  return s ? s : Status(std::move(s).error().note(fmt::format("in '{}'", path)));
}

}  // namespace tfvm
