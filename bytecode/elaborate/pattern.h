#pragma once
// Types as written (f32[3,n], f[..,k]) against the types of an instance. Within one call a class letter is one dtype
// and a named dim one size (or, of `..b`, one list of sizes).

#include <optional>
#include <string>

#include "bytecode/elaborate/eval.h"

namespace tfvm {

// What one call has bound: attribute parameters and named dims by name, classes by letter and number.
struct Bindings {
  struct Class {
    TypeForm form;
    std::uint32_t number;
    DType dtype;
  };
  NamedAttrs attrs;
  std::vector<Class> classes;
};

// Binds what is free in `pattern`; on a clash gives what was expected ("f64[n,m] with n = 2").
std::optional<std::string> match(Tables& t, const Module& m, const TypePattern& pattern, TypeId type, Bindings& b);

// The dtype that the pattern has by itself or by what is bound; nullopt where its class is free.
std::optional<DType> dtype_of(const TypePattern& pattern, const Bindings& b);
// Binds the class of `pattern` to `dtype`, where it is one and free.
void bind_dtype(const TypePattern& pattern, DType dtype, Bindings& b);
// A literal passed where the class is free: f32 for floats, i64 for integers.
std::optional<DType> default_of_class(const TypePattern& pattern);

// The type that the pattern stands for, where its class, its names and its `..b` are bound.
std::optional<TypeId> bound_type(Tables& t, const Module& m, const TypePattern& pattern, const Bindings& b);

// The one type that the pattern stands for, where it has neither classes, names nor `..`.
std::optional<TypeId> concrete_type(Tables& t, const Module& m, const TypePattern& pattern);

std::string pattern_text(const Tables& t, const Module& m, const TypePattern& pattern);

}  // namespace tfvm
