#pragma once
// Arguments and results on the command line: literals and .npy or .npz files.

#include <optional>
#include <string>
#include <vector>

#include "bytecode/text/parse.h"
#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm::tool {

// "@main", or a derived function such as "vmap(grad(@loss), in_dims=[0])"; to be called under the lock of `vm`.
Result<ParsedCallee> parse_function(VM& vm, const std::string& text);
// That of the program of `vm`.
Result<Callee*> find_function(VM& vm, const std::string& text);

// For arguments of these types, ready to be called.
Result<Function> prepare(VM& vm, Callee& f, std::span<const TypeId> types);

// The function ready to be called for what `--args` gives: types, or nothing where it fixes them itself.
Result<Function> entry_for(VM& vm, const std::string& function, const std::string& args);

// What `--arg` gives: a literal, with or without its type, or the name of a file; an .npz gives all its arrays, in
// order. A literal without a type takes the dtype that `f` has for it, after the files and typed literals are known.
Result<std::vector<Value>> read_arguments(VM& vm, Callee& f, const std::vector<std::string>& texts);

// Writes one result to each .npy, in order; an .npz takes all that are left, as arr_0, arr_1, …. Gives how many were
// written; Code::Type where there are fewer results than files.
Result<std::size_t> write_results(VM& vm, const std::vector<std::string>& files, std::span<const Value> results);

std::string print_value(VM& vm, const Value& v, const PrintOptions& options);

}  // namespace tfvm::tool
