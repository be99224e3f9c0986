#pragma once
// tfvm.h for C++17 and later: handles that release themselves, and results that hold a value or an error. Header only;
// nothing is thrown, no RTTI.
//
//   tfvm::Result<tfvm::Vm> vm = tfvm::Vm::create();
//   if (auto s = vm->load(text, "a.tfa"); !s) puts(s.error().message);
//   tfvm::Result<tfvm::Function> f = vm->prepare("grad(@loss)", "f32[3], f32");
//   tfvm::Result<tfvm::Context> c = vm->context();
//   auto s = c->call(*f, {w, &y}, {g});

#include <cstring>
#include <initializer_list>
#include <string_view>

#include <tfvm.h>
#include <tfvm/handles.hpp>

namespace tfvm {
inline namespace api {

// Statements as tfvm/build.h has them; C++ writes b.op("add", {x, y}).
class Builder : public Handle<tfvm_builder, tfvm_builder_release> {
 public:
  using Handle::Handle;
  tfvm_ref param(const char* type = nullptr) { return tfvm_build_param(get(), type); }
  tfvm_ref constant(const tfvm_view& v) { return tfvm_build_constant(get(), &v); }
  tfvm_ref op(const char* name, std::initializer_list<tfvm_ref> operands, const char* attributes = nullptr) {
    return tfvm_build_op(get(), name, operands.begin(), operands.size(), attributes);
  }
  // The first result of a statement that has `results` of them; the others follow it.
  tfvm_ref statement(const char* text, std::initializer_list<tfvm_ref> operands, std::size_t results = 1) {
    tfvm_ref all[16] = {-1};
    tfvm_build_statement(get(), text, operands.begin(), operands.size(), all, results < 16 ? results : 16);
    return all[0];
  }
  Status finish(std::initializer_list<tfvm_ref> results) {
    return Status::of([&](tfvm_error* e) { return tfvm_builder_finish(get(), results.begin(), results.size(), e); });
  }
  const char* text() const { return tfvm_builder_text(get()); }
};

class Vm : public Handle<tfvm_vm, tfvm_vm_release> {
 public:
  using Handle::Handle;
  static Result<Vm> create(const tfvm_vm_options* options = nullptr) {
    return made<Vm, tfvm_vm>([&](tfvm_vm** p, tfvm_error* e) { return tfvm_vm_create(options, p, e); });
  }
  Status load(std::string_view text, const char* name = nullptr, const tfvm_loader* files = nullptr) {
    return Status::of([&](tfvm_error* e) { return tfvm_load_text(get(), text.data(), text.size(), name, files, e); });
  }
  Status load_binary(const void* bytes, std::size_t size, const char* name = nullptr,
                     const tfvm_loader* files = nullptr) {
    return Status::of([&](tfvm_error* e) { return tfvm_load_binary(get(), bytes, size, name, files, e); });
  }
  Status register_op(const char* name, const tfvm_op& op) {
    return Status::of([&](tfvm_error* e) { return tfvm_register_op(get(), name, &op, e); });
  }
  // types: "f32[3], i64"; null: as written in the program.
  Result<Function> prepare(const char* callee, const char* types = nullptr) {
    return made<Function, tfvm_function>(
        [&](tfvm_function** p, tfvm_error* e) { return tfvm_prepare(get(), callee, types, p, e); });
  }
  Result<Context> context(const tfvm_context_options* options = nullptr) {
    return made<Context, tfvm_context>(
        [&](tfvm_context** p, tfvm_error* e) { return tfvm_context_create(get(), options, p, e); });
  }
  Result<Builder> builder(const char* name) {
    return made<Builder, tfvm_builder>(
        [&](tfvm_builder** p, tfvm_error* e) { return tfvm_builder_create(get(), name, p, e); });
  }
  Result<Value> copy(const tfvm_view& v) {
    return made<Value, tfvm_value>([&](tfvm_value** p, tfvm_error* e) { return tfvm_value_copy(get(), &v, p, e); });
  }

 private:
  template <class H, class T, class Make>
  static Result<H> made(Make make) {
    Error e;
    T* p = nullptr;
    if (make(&p, &e) != TFVM_OK) return e;
    return H(p);
  }
};

}  // namespace api
}  // namespace tfvm
