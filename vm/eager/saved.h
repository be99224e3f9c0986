#pragma once
// What a pack keeps of its inputs, and writes into that. A pack holds the storage of an input where it can; the tensors
// in it know the version that the storage had (Tensor::saved), and using one of another version is an error that names
// the write.

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/tables.h"
#include "vm/tensor.h"

namespace tfvm {

// The places of writes, numbered from 1: storages keep the number of their last one. Thread safe.
class WriteSites {
 public:
  std::uint32_t add(std::string_view op, Loc loc);
  std::string text(std::uint32_t site) const;  // "mul_ in line 12"; 0: "the host"

 private:
  mutable std::mutex lock_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // equal texts have one
};

// Code::Type where one of the tensors was saved, and written into since; `sites` may be null.
Status check_saved(std::span<const Tensor> tensors, const WriteSites* sites);

// Per tensor of values of these types: is it part of a pack? Empty where none is.
std::vector<std::uint8_t> pack_leaves(const Tables& t, std::span<const TypeId> types);

// The parameters and globals (behind kGlobalRoot) whose storage the body, or what it calls, writes behind instruction
// i.
std::vector<std::uint32_t> written_behind(const Tables& t, const Body& body, std::uint32_t i);

}  // namespace tfvm
