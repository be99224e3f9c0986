#include "jit/region/run.h"

#include <algorithm>

#include "jit/region/reduce_run.h"

namespace tfvm {

void start_rows(RowState& s, std::int64_t first_result) {
  s.blocks.occupied = s.groups.occupied = 0;
  s.in_row = s.in_block = s.in_group = s.in_result = 0;
  s.result = first_result;
}

namespace {

// The place of result `k` (in row-major order of the kept loops) of an access.
std::int64_t result_place(const NestCode& code, const AccessCode& a, std::int64_t k) {
  std::int64_t at = a.offset;
  for (std::uint32_t d = code.kept; d-- > 0;) {
    at += k % code.extents[d] * a.strides[d];
    k /= code.extents[d];
  }
  return at;
}

void write(const WindowRun& run, const ReductionCode& r, std::int64_t at, const void* value) {
  const AccessCode& a = run.code().accesses[r.access];
  if (r.convert)
    r.convert(run.memory(a, at), value, nullptr, nullptr, 1);
  else
    std::memcpy(run.memory(a, at), value, a.size);
}

void end_row(const WindowRun& run, const ReductionCode& r, RowState& s, std::uint64_t value) {
  const NestCode& code = run.code();
  if (code.rows > 1) {
    if (s.in_group == 0)
      s.group = value;
    else
      r.fns.combine(&s.group, &s.group, &value, nullptr, 1);
    if (++s.in_group == kRowGroup) {
      s.groups.push(r.fns, s.group);
      s.in_group = 0;
    }
    if (++s.in_result < code.rows) return;
    value = s.groups.finish(r.fns, s.in_group > 0, s.group);
    s.in_group = s.in_result = 0;
  }
  write(run, r, result_place(code, code.accesses[r.access], s.result++), &value);
}

// `count` results in order from a buffer of held elements.
void write_results(const WindowRun& run, const ReductionCode& r, RowState& s, const std::byte* values,
                   std::int64_t count) {
  const NestCode& code = run.code();
  const AccessCode& a = code.accesses[r.access];
  if (code.kept == 1 && a.strides[0] == 1) {
    std::byte* to = run.memory(a, a.offset + s.result);
    if (r.convert)
      r.convert(to, values, nullptr, nullptr, count);
    else
      std::memcpy(to, values, static_cast<std::size_t>(count) * a.size);
    s.result += count;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) write(run, r, result_place(code, a, s.result++), values + i * r.size);
}

}  // namespace

void take_values(const WindowRun& run, const ReductionCode& r, RowState& s, const std::byte* v, std::int64_t n) {
  const std::int64_t row = run.code().row;
  if (row <= kRowBlock && run.code().rows == 1 && s.in_row == 0 && n >= row) {  // whole rows, each a result
    std::byte* values = run.scratch(run.code().temp);
    tfvm::take_rows(r.fns, values, v, row, n / row);
    write_results(run, r, s, values, n / row);
    v += n / row * row * r.size;
    n %= row;
  }
  while (n > 0) {
    const std::int64_t some = std::min({n, row - s.in_row, kRowBlock - s.in_block});
    take_lanes(r.fns, s.lanes, v, some, s.in_block);
    s.in_row += some;
    s.in_block += some;
    v += some * r.size;
    n -= some;
    if (s.in_block < kRowBlock && s.in_row < row) continue;
    r.fns.fold(s.lanes, s.in_block);
    s.in_block = 0;
    std::uint64_t value = 0;
    std::memcpy(&value, s.lanes, r.size);
    if (row > kRowBlock) {
      s.blocks.push(r.fns, value);
      if (s.in_row == row) value = s.blocks.finish(r.fns, false, 0);
    }
    if (s.in_row < row) continue;
    s.in_row = 0;
    end_row(run, r, s, value);
  }
}

ColumnSums::ColumnSums(const WindowRun& run, const ReductionCode& r, std::int64_t width)
    : r_(r),
      width_(width),
      counts_(*reinterpret_cast<Counts*>(run.scratch(r.state))),
      vectors_(run.scratch(r.state) + 64),
      stride_((static_cast<std::size_t>(run.code().column_chunk) * r.size + 63) / 64 * 64) {}

void ColumnSums::take_rows(const std::byte* v, std::int64_t count) {
  const std::int64_t bytes = width_ * r_.size;
  while (count > 0) {
    std::int64_t some = std::min(count, kRowGroup - counts_.in_group);
    const bool starts = counts_.in_group == 0;
    if (starts) std::memcpy(vector(0), v, static_cast<std::size_t>(bytes));
    if (some > starts) r_.fns.columns(vector(0), v + starts * bytes, width_, some - starts);
    v += some * bytes;
    count -= some;
    counts_.in_group += some;
    if (counts_.in_group == kRowGroup) end_group();
  }
}

void ColumnSums::end_group() {
  std::byte* group = vector(0);
  counts_.in_group = 0;
  std::int64_t k = 0;
  for (; counts_.occupied >> k & 1; ++k) r_.fns.combine(group, vector(1 + k), group, nullptr, width_);
  std::memcpy(vector(1 + k), group, static_cast<std::size_t>(width_) * r_.size);
  counts_.occupied += 1;
}

const std::byte* ColumnSums::finish() {
  std::byte* sum = vector(0);
  bool has_sum = counts_.in_group > 0;
  for (; counts_.occupied; counts_.occupied &= counts_.occupied - 1) {
    std::byte* level = vector(1 + std::countr_zero(counts_.occupied));
    if (has_sum) r_.fns.combine(level, level, sum, nullptr, width_);
    sum = level;
    has_sum = true;
  }
  return sum;
}

namespace {

// All windows of the loops from the outside in, each followed by `after`.
template <class After>
bool for_windows(WindowRun& run, After after) {
  const NestCode& code = run.code();
  return run.for_loops(0, code.q, [&] {
    const std::int64_t extent = run.extent(code.q);
    for (std::int64_t i = 0; i < extent; i += code.chunk) {
      const std::int64_t steps = std::min(code.chunk, extent - i);
      if (run.was_done()) [[unlikely]] {
        run.skip();
      } else {
        if (!run.may_go_on()) return false;
        run.evaluate(steps);
        after(steps * code.inside);
      }
      run.move(code.q, steps);
    }
    run.move(code.q, -extent);
    return true;
  });
}

bool run_rows(WindowRun& run) {
  const NestCode& code = run.code();
  std::int64_t first = run.begin();  // result; a part begins at a kept loop
  for (std::uint32_t d = 1; d < code.kept; ++d) first *= code.extents[d];
  for (const ReductionCode& r : code.reductions)
    if (!run.was_done()) start_rows(*reinterpret_cast<RowState*>(run.scratch(r.state)), first);
  return for_windows(run, [&](std::int64_t n) {
    for (const ReductionCode& r : code.reductions)
      take_values(run, r, *reinterpret_cast<RowState*>(run.scratch(r.state)),
                  static_cast<const std::byte*>(run.value(r.node)), n);
  });
}

// Writes the sums of the columns at the present place; `first` of the inner loops' points is the first column.
void write_columns(const WindowRun& run, const ReductionCode& r, const std::byte* sums, std::int64_t first,
                   std::int64_t width) {
  const NestCode& code = run.code();
  const AccessCode& a = code.accesses[r.access];
  for (std::int64_t j = 0; j < width; ++j) {
    std::int64_t at = run.place(r.access), k = first + j;
    for (auto d = static_cast<std::uint32_t>(code.extents.size()); d-- > code.kept + code.reduced;) {
      at += k % code.extents[d] * a.strides[d];
      k /= code.extents[d];
    }
    write(run, r, at, sums + j * r.size);
  }
}

// One window of some rows of columns, unless it was done before.
bool run_column_window(WindowRun& run, std::int64_t steps, std::int64_t rows, std::span<ColumnSums> sums) {
  if (run.was_done()) [[unlikely]] {
    run.skip();
    return true;
  }
  if (!run.may_go_on()) return false;
  run.evaluate(steps);
  for (std::size_t k = 0; k < sums.size(); ++k)
    sums[k].take_rows(static_cast<const std::byte*>(run.value(run.code().reductions[k].node)), rows);
  return true;
}

// One set of columns: all rows of `width` columns, from the present place.
bool run_column_chunk(WindowRun& run, std::int64_t first, std::int64_t width, std::span<ColumnSums> sums) {
  const NestCode& code = run.code();
  const std::uint32_t last_reduced = code.kept + code.reduced - 1;
  if (code.q == last_reduced) {  // several rows per window
    return run.for_loops(code.kept, last_reduced, [&] {
      const std::int64_t extent = run.extent(last_reduced);
      for (std::int64_t i = 0; i < extent; i += code.chunk) {
        const std::int64_t steps = std::min(code.chunk, extent - i);
        if (!run_column_window(run, steps, steps, sums)) return false;
        run.move(last_reduced, steps);
      }
      run.move(last_reduced, -extent);
      return true;
    });
  }
  run.move(code.q, first);  // a part of a row per window
  const bool done =
      run.for_loops(code.kept, code.kept + code.reduced, [&] { return run_column_window(run, width, 1, sums); });
  run.move(code.q, -first);
  return done;
}

// The next set of columns, unless the run before this one did it and wrote it.
bool run_columns_from(WindowRun& run, std::int64_t first) {
  const NestCode& code = run.code();
  const std::int64_t width = std::min(code.column_chunk, code.row - first);
  alignas(ColumnSums) std::byte memory[kMaxReductions * sizeof(ColumnSums)];
  auto* sums = reinterpret_cast<ColumnSums*>(memory);
  for (std::size_t k = 0; k < code.reductions.size(); ++k) {
    new (sums + k) ColumnSums(run, code.reductions[k], width);
    if (!run.was_done()) sums[k].start();
  }
  if (!run_column_chunk(run, first, width, {sums, code.reductions.size()})) return false;
  if (run.only_skipped()) return true;
  for (std::size_t k = 0; k < code.reductions.size(); ++k)
    write_columns(run, code.reductions[k], sums[k].finish(), first, width);
  return true;
}

bool run_columns(WindowRun& run) {
  const NestCode& code = run.code();
  return run.for_loops(0, code.kept, [&] {
    for (std::int64_t first = 0; first < code.row; first += code.column_chunk)
      if (!run_columns_from(run, first)) return false;
    return true;
  });
}

// No points: results that exist are the identity.
void run_nothing(WindowRun& run) {
  const NestCode& code = run.code();
  for (const ReductionCode& r : code.reductions) {
    const AccessCode& a = code.accesses[r.access];
    std::int64_t results = 1;
    for (std::size_t d = 0; d < code.extents.size(); ++d) results *= code.is_kept[d] ? code.extents[d] : 1;
    for (std::int64_t k = 0; k < results; ++k) {
      std::int64_t at = a.offset, rest = k;
      for (std::size_t d = code.extents.size(); d-- > 0;) {
        if (!code.is_kept[d]) continue;
        at += rest % code.extents[d] * a.strides[d];
        rest /= code.extents[d];
      }
      write(run, r, at, &r.fns.identity);
    }
  }
}

}  // namespace

std::int64_t max_parts(const NestCode& code, std::int64_t work) {
  const bool can = code.mode == NestMode::Plain ||
                   ((code.mode == NestMode::Rows || code.mode == NestMode::Columns) && code.kept > 0);
  if (!can) return 1;
  double all = static_cast<double>(code.work());
  for (std::int64_t extent : code.extents) all *= static_cast<double>(extent);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(all / static_cast<double>(kBlock * work)), 1,
                                  code.extents[0]);
}

namespace {

bool run_windows(WindowRun& run) {
  const NestCode& code = run.code();
  switch (code.mode) {
    case NestMode::Scalar:
      run.evaluate_scalar();
      return true;
    case NestMode::Plain:
      return for_windows(run, [](std::int64_t) {});
    case NestMode::Rows:
      return run_rows(run);
    case NestMode::Columns:
      return run_columns(run);
    case NestMode::Nothing:
      run_nothing(run);
      return true;
  }
  return true;
}

}  // namespace

bool run_nest(const NestCode& code, std::byte* const* bases, std::byte* scratch, NestWatch* watch, NestPart part) {
  WindowRun run(code, bases, scratch, watch, part);
  // All that windows leave behind is in scratch.
  if (watch) watch->can_resume = code.mode != NestMode::Scalar && code.mode != NestMode::Nothing;
  const bool through = run_windows(run);
  if (watch) watch->windows_done = through ? 0 : run.windows_done();
  return through;
}

}  // namespace tfvm
