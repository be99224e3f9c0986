#pragma once
// Native code of loop nests for x86-64. A build without it (TFVM_JIT=OFF) has the same interface: nothing is available,
// and every nest stays in the block interpreter.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/status.h"
#include "jit/x86/code_listener.h"
#include "jit/x86/loop.h"

namespace tfvm {

enum class Isa : std::uint8_t { Avx2, Avx512 };

// How the points of a nest are cut into units that may run apart: a unit is a round of the outermost loop, or a trip of
// the only one.
struct NestCut {
  std::int64_t units = 1;  // 1: it can't be cut
  std::int64_t work = 0;   // of the whole nest: its time_of
  bool is_inner = false;   // units are trips of `lanes` points; what is left over goes with the last
  std::int64_t lanes = 1;
  std::vector<std::pair<std::uint32_t, std::int64_t>> steps;  // (argument, what is added to it for each unit before)
};

// The inner loop and the one around it in blocks: those that the nest runs in (x86/blocks.h), or that others ask for.
struct NestBlocks {
  std::int64_t points = 0, lanes = 1;  // of the inner loop in a block: a multiple of the points of a trip; 0: all
  std::int64_t rounds = 0;             // of the loop around it in a block
  std::uint32_t extent = 0;            // argument: how many rounds there are; 0: no loop around it
  struct Step {
    std::uint32_t arg = 0;
    std::int64_t point = 0, round = 0;  // what is added to it for each before the block
  };
  std::vector<Step> steps;
  std::vector<std::pair<std::uint32_t, std::int64_t>> around;  // (argument, what is added to it for each round less)
};

// Of a loop: the arguments that say how many trips it makes and by what its accesses are set back behind them.
struct NestTrips {
  std::uint32_t count = 0;                                   // argument; 0: no loop
  std::vector<std::pair<std::uint32_t, std::int64_t>> back;  // (argument, its value for one trip)
};

// One nest ready to run: code, shared by all nests of its shape, and the arguments of this one. Bits are those of
// run_nest, but for the payload and sign of NaN. Running allocates nothing; many threads may run one nest.
class NativeNest {
 public:
  using Entry = void (*)(std::byte* const* bases, const std::int64_t* args);
  static constexpr std::size_t kMaxCutArgs = 1024;  // copied to the stack for each part
  NativeNest(Entry entry, std::vector<std::int64_t> args, NestCut cut = {}, NestTrips trips = {},
             std::shared_ptr<const void> code = {})
      : entry_(entry), args_(std::move(args)), cut_(std::move(cut)), trips_(std::move(trips)), code_(std::move(code)) {}
  void set_blocks(NestBlocks blocks) { blocks_ = std::make_shared<const NestBlocks>(std::move(blocks)); }
  void run(std::byte* const* bases) const {
    if (in_blocks())
      run_blocks(bases, args_.data());
    else if (entry_)
      entry_(bases, args_.data());
  }
  // Into how many parts it can be cut, each of at least so much work.
  std::int64_t max_parts(std::int64_t work) const;
  // The `index`th of `count` parts, count <= max_parts(1). Parts may run at the same time.
  void run_part(std::byte* const* bases, std::int64_t index, std::int64_t count) const;
  std::int64_t work() const { return cut_.work; }
  // Of a nest compiled for tiles: whether its points are those of a matrix in row-major order, so that it can run on a
  // part of it. Columns are cut at multiples of kTileCols.
  static constexpr std::int64_t kTileCols = 16;
  bool has_tiles(std::int64_t rows, std::int64_t cols) const;
  struct Tile {
    std::int64_t row, rows, col, cols;
    std::int64_t width;  // columns of the matrix
  };
  void run_tile(std::byte* const* bases, const Tile& tile) const;
  // Of a loop: whether it can make some of its trips, and does so: the first `count` where bases point to the first
  // rows, others where they point further on, and those of carries to where the trips before left them.
  bool can_run_trips() const { return !entry_ || (trips_.count > 0 && args_.size() <= kMaxCutArgs); }
  void run_trips(std::byte* const* bases, std::int64_t count) const;

 private:
  bool in_blocks() const { return blocks_ && blocks_->points > 0; }
  void run_blocks(std::byte* const* bases, const std::int64_t* args) const;

  Entry entry_;  // null: there are no points
  std::vector<std::int64_t> args_;
  NestCut cut_;
  NestTrips trips_;
  std::shared_ptr<const NestBlocks> blocks_;  // null: none
  std::shared_ptr<const void> code_;          // keeps what entry_ points into
};

// Makes code, and keeps it until it is destroyed, or trimmed: it outlives the nests. May be used from many threads.
class NestCompiler {
 public:
  // Whether this build and machine can run native code at all, and the best of its instruction sets.
  static bool is_available();
  static Isa best_isa();

  // `few_registers`: code has the least number of vector registers that it can do with, and spills; for tests.
  explicit NestCompiler(Isa isa = best_isa(), bool few_registers = false, std::shared_ptr<CodeListener> listener = {});
  ~NestCompiler();
  NestCompiler(const NestCompiler&) = delete;

  // Whether the system gives no executable memory: asked the first time, and known when a compilation met it.
  bool is_refused();
  // Unsupported: a nest that has no native code. Memory: the system refuses executable memory; later calls fail at
  // once. `in_tiles`: run_tile is wanted.
  Result<NativeNest> compile(const Nest& nest, const CodeLabel& label = {}, bool in_tiles = false);
  Result<NativeNest> compile(const LoopNest& loop, const CodeLabel& label = {});
  // The machine code as text, without keeping it. What a node is made for stands as "; source 3" before its code.
  Result<std::string> listing(const Nest& nest);
  Result<std::string> listing(const LoopNest& loop);
  // Lets go of the code of shapes that no nest has any more.
  void trim();
  // How many shapes have code, and their bytes.
  struct Counts {
    std::size_t shapes = 0, bytes = 0;
  };
  Counts counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tfvm
