#pragma once
// Params and buffers of a program in files: `.safetensors`, `.npz`, or, for a path that ends with `/`, one `.npy` each
// in that folder.

#include "vm/npy/npy.h"
#include "vm/vm.h"

namespace tfvm {

// All params and buffers by name, in order of declaration; the tensors themselves.
NamedTensors state(VM& vm);

// Copies into the params and buffers. Code::Name for a name that the program hasn't, that is missing or given twice,
// Code::Type for another dtype or shape; nothing is written then. Not while a function of `vm` runs.
Status set_state(VM& vm, const NamedTensors& tensors);

// A file is written beside and renamed. Errors as set_state and as the format's.
Status save_state(VM& vm, const std::string& path);
Status load_state(VM& vm, const std::string& path);

}  // namespace tfvm
