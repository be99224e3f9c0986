#pragma once
// A function of a program, made for inputs in a VM of its own.

#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "vm/context.h"
#include "vm/vm.h"

namespace tfvm::test {

struct Made {
  std::unique_ptr<VM> vm;
  Function f;
  Context context;

  Made(TierOptions tier, std::string_view program, std::string_view callee, const std::vector<Tensor>& in) {
    VmOptions options;
    options.tier = tier;
    vm = *VM::create(options);
    const Status loaded = vm->load_text(program, "test.tfa");
    EXPECT_TRUE(loaded) << loaded.error().message;
    std::vector<TypeId> types;
    for (const Tensor& x : in) types.push_back(vm->type_of(x));
    auto made = vm->entry(callee, types);
    EXPECT_TRUE(made) << made.error().message;
    f = *std::move(made);
  }
  Result<std::vector<Tensor>> call(const std::vector<Tensor>& in) { return vm->call(context, f, in); }
};

}  // namespace tfvm::test
