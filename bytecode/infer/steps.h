#pragma once
// Steps that inference rules share. A step that fails has called c.fail.

#include <string>
#include <utility>

#include "bytecode/infer/infer.h"

namespace tfvm::infer {

using Shape = std::vector<std::int64_t>;
using Pair = std::pair<std::int64_t, std::int64_t>;

inline Shape copy(Dims d) { return {d.begin(), d.end()}; }
inline std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
inline std::int64_t ssize(Dims d) { return static_cast<std::int64_t>(d.size()); }

std::string text(Ints v);                    // "[1,2]"
std::string types(const InferCtx& c);        // "f32[3,4], i64": the operands
bool expect(InferCtx& c, std::string what);  // fails with "expected WHAT, got f32[3,4], i64"

// Sums and products that fail instead of wrapping.
bool add(std::int64_t a, std::int64_t b, std::int64_t& out);
bool mul(std::int64_t a, std::int64_t b, std::int64_t& out);

// A list of n integers, each at least `least`; none stands for n times `fill`. Written back complete.
bool list_of(InferCtx& c, Key key, std::size_t n, std::int64_t fill, std::int64_t least, Shape& out);
// A list of n pairs [low, high]; none stands for n times [0, 0]. Written back complete.
bool pairs_of(InferCtx& c, Key key, std::size_t n, std::vector<Pair>& out);
// The k-th of two lists of integers, e.g. batch=[[0],[1]].
bool two_lists(InferCtx& c, Key key, Shape& first, Shape& second);

// Distinct places 0 ≤ p < rank after negative ones have been counted from the end.
bool normalise_places(InferCtx& c, std::string_view what, Shape& places, std::int64_t rank);
bool sorted_places(InferCtx& c, Key key, std::int64_t rank, Shape& out);  // of an Ints attribute: ascending, distinct
bool one_of(InferCtx& c, Key key, std::initializer_list<std::string_view> words);

bool contains(Ints v, std::int64_t x);
Shape without(Dims d, Ints places);  // the dims that do not stand at `places`
bool same_dims(Dims a, Dims b);

// Extents of a window that moves over one dim.
struct Window {
  std::int64_t size = 1, stride = 1, low = 0, high = 0, base_dilation = 1, dilation = 1;
};
// The number of places; false where a size overflows.
bool window_places(std::int64_t n, const Window& w, std::int64_t& out);

}  // namespace tfvm::infer
