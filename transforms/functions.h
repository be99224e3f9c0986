#pragma once
// Small rewrites of whole functions, and of masks over their signatures, that several passes share.

#include <initializer_list>

#include "transforms/env.h"

namespace tfvm {

// The function with parameters and results in another order: new parameter k is old parameter params[k] (each exactly
// once), new result k is old result results[k] (any choice; what is no longer needed goes).
Result<FunctionId> rearrange(TransformEnv& env, FunctionId f, std::span<const std::uint32_t> params,
                             std::span<const std::uint32_t> results);

// The function with further, unused parameters at the end.
Result<FunctionId> with_extra_params(TransformEnv& env, FunctionId f, std::span<const TypeId> extra);

// Appends the instructions of `f` in place of a call, with their origins and names. The builder's parent is either `f`
// itself or the parent of `f`.
enum class Kin { Parent, Sibling };
std::vector<ValueId> inline_kin(Builder& b, FunctionId f, std::span<const ValueId> args, Kin kin);

// Reports an error of a callee at the present place, or at its own place where it knows one.
void forward(Builder& b, const Error& e);

// "in jvp of @f": where a pass was when it failed.
Error note_pass(const Tables& t, Error e, std::string_view pass, FunctionId f);

// Masks and index lists.
Mask slice(const Mask& m, std::size_t begin, std::size_t n);
Mask concat(std::initializer_list<const Mask*> parts);
bool any(const Mask& m);
std::size_t count(const Mask& m);
// One flag per type: has tangents.
Mask differentiable(const Tables& t, std::span<const TypeId> types);
// Positions with the flag `wanted`.
std::vector<std::uint32_t> positions(const Mask& m, bool wanted = true);
// Each mask spelled out behind its length: keys of memos.
std::vector<std::int64_t> memo_key(std::initializer_list<const Mask*> masks);

// A list of n = flags.size() entries in groups, followed by one more entry for each set flag, becomes a list in which
// the extras of a group follow it: groups {2,1}, flags 1 0 1 (list a b c a' c') -> a b a' c c'. Gives old positions.
std::vector<std::uint32_t> regroup(std::span<const std::size_t> groups, const Mask& flags);

// A constant whose elements are all zero, of either sign.
bool is_zero(const Builder& b, ValueId v);

}  // namespace tfvm
