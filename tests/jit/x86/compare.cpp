#include "compare.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "guarded.h"
#include "jit/region/run.h"

namespace tfvm {

namespace {

struct Range {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;  // bytes
};

// `by`: elements that an index may add, either way.
void touch(const Nest& nest, const Access& a, std::vector<Range>& ranges, bool is_result = false, std::int64_t by = 0) {
  std::int64_t least = a.offset - by, most = a.offset + by;
  for (std::size_t d = 0; d < nest.extents.size(); ++d) {
    if (is_result && nest.reduced[d]) continue;  // of nothing there are results too
    if (nest.extents[d] == 0) return;
    const std::int64_t span = (nest.extents[d] - 1) * a.strides[d];
    (span < 0 ? least : most) += span;
  }
  Range& r = ranges[a.base];
  r.begin = std::min(r.begin, least * size_of(a.dtype));
  r.end = std::max(r.end, (most + 1) * size_of(a.dtype));
}

std::vector<Range> touched(const RandomNest& made) {
  std::vector<Range> ranges(made.memory.size());
  if (made.is_exact) {
    for (std::size_t k = 0; k < ranges.size(); ++k) ranges[k] = {0, static_cast<std::int64_t>(made.memory[k].size())};
    return ranges;
  }
  for (const NestNode& n : made.nest.nodes)
    if (n.kind == NestNodeKind::Load)
      touch(made.nest, made.nest.accesses[n.access], ranges, false, n.in[1] == kNoNode ? 0 : kIndex);
  for (const Store& s : made.nest.stores) touch(made.nest, s.to, ranges);
  for (const Reduction& r : made.nest.reductions) touch(made.nest, r.to, ranges, true);
  return ranges;
}

}  // namespace

std::vector<CodeTarget> code_targets() {
  std::vector<CodeTarget> all{{Isa::Avx2, false}, {Isa::Avx2, true}};
  if (NestCompiler::best_isa() == Isa::Avx512) all.insert(all.end(), {{Isa::Avx512, false}, {Isa::Avx512, true}});
  return all;
}

std::string text(const CodeTarget& t) {
  return std::string(t.isa == Isa::Avx512 ? "avx512" : "avx2") + (t.few_registers ? ", few registers" : "");
}

Compared compare_tiers(NestCompiler& compiler, const RandomNest& made, unsigned seed) {
  const Result<NativeNest> native = compiler.compile(made.nest);
  if (!native) {
    EXPECT_EQ(native.error().code, Code::Unsupported) << native.error().message;
    return Compared::NoCode;
  }
  const std::vector<Range> ranges = touched(made);
  std::vector<std::unique_ptr<Guarded>> memory;
  std::vector<std::byte*> bases;
  auto interpreted = made.memory;
  std::vector<std::byte*> interpreted_bases;
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    const Range r = ranges[k].end ? ranges[k] : Range{0, 0};
    const auto bytes = static_cast<std::size_t>(r.end - r.begin);
    memory.push_back(std::make_unique<Guarded>(bytes, (seed + k) % 4 != 0));
    if (bytes > 0) std::memcpy(memory.back()->data(), made.memory[k].data() + r.begin, bytes);
    bases.push_back(memory.back()->data() - r.begin);
    interpreted_bases.push_back(interpreted[k].data());
  }
  const std::int64_t parts = std::min<std::int64_t>(native->max_parts(1), 1 + seed % 4);
  for (std::int64_t k = 0; k < parts; ++k) native->run_part(bases.data(), k, parts);
  const auto code = prepare(made.nest);
  EXPECT_TRUE(code);
  auto* scratch = static_cast<std::byte*>(std::aligned_alloc(64, (scratch_bytes(**code) + 127) / 64 * 64));
  run_nest(**code, interpreted_bases.data(), scratch);
  std::free(scratch);
  std::vector<DType> dtypes(ranges.size(), DType::U8);
  for (const Store& s : made.nest.stores) dtypes[s.to.base] = s.to.dtype;
  for (const Reduction& r : made.nest.reductions) dtypes[r.to.base] = r.to.dtype;
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    if (ranges[k].end == 0) continue;
    if (!agree(interpreted[k].data() + ranges[k].begin, memory[k]->data(), memory[k]->size(), dtypes[k]))
      return Compared::Different;
  }
  return Compared::Equal;
}

}  // namespace tfvm
