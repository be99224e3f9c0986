#pragma once
// The words that the grammar knows.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace tfvm {

inline constexpr std::string_view kTransformNames[] = {"jvp",         "vjp",
                                                       "grad",        "value_and_grad",
                                                       "linearize",   "lin",
                                                       "vmap",        "jacfwd",
                                                       "jacrev",      "hessian",
                                                       "hvp",         "functional_call",
                                                       "aot",         "functionalize",
                                                       "checkpoint",  "fwd",
                                                       "bwd",         "jacobian_sparsity",
                                                       "contract",    "jac_sparse",
                                                       "hess_sparse", "gradcheck",
                                                       "stack_params"};
inline bool is_transform(std::string_view s) {
  return std::ranges::find(kTransformNames, s) != std::end(kTransformNames);
}

inline constexpr std::string_view kParamKinds[] = {"int", "float", "bool", "str", "dtype", "ints"};  // of ParamKind

// Statements of their own: no op has one of these names.
inline constexpr std::string_view kStatementWords[] = {"call", "cond", "switch", "while", "scan",        "checkpoint",
                                                       "if",   "for",  "ret",    "yield", "expect_error"};
inline bool is_statement_word(std::string_view s) {
  return std::ranges::find(kStatementWords, s) != std::end(kStatementWords);
}
// Not KEYs where a value stands.
inline bool is_value_word(std::string_view s) {
  return s == "true" || s == "false" || s == "none" || s == "inf" || s == "nan";
}

// Brackets, blocks and transforms nest at most this deep, in text and in binary.
inline constexpr int kMaxNesting = 256;
inline constexpr int kMaxLiteralRank = 64;

// [[], []] has two lists and no number. Only the last dim of such a literal is 0.
inline constexpr std::int64_t kMaxEmptyLists = 65536;
inline std::int64_t lists_without_elements(std::span<const std::int64_t> dims) {
  std::int64_t n = 1;
  for (std::int64_t d : dims)
    if (d != 0) n = d > kMaxEmptyLists || n > kMaxEmptyLists ? kMaxEmptyLists + 1 : n * d;
  return n;
}

}  // namespace tfvm
