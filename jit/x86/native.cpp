#include "jit/x86/native.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "jit/x86/code_memory.h"
#include "jit/x86/code_room.h"
#include "jit/x86/emit.h"

namespace tfvm {

using x86::TripSet;

namespace {

const asmjit::CpuFeatures::X86& features() { return asmjit::CpuInfo::host().features().x86(); }

Status init(asmjit::CodeHolder& code) {
  if (code.init(asmjit::Environment::host()) == asmjit::kErrorOk) return ok();
  return Error(Code::Internal, "the assembler can't start");
}

Status emit(const x86::NestShape& s, x86::Target target, asmjit::CodeHolder& code) {
  return x86::emit_nest(s, target, code);
}
Status emit(const x86::LoopShape& s, x86::Target target, asmjit::CodeHolder& code) {
  return x86::emit_loop(s, target, code);
}

x86::NestShape& nest_of(x86::NestShape& s) { return s; }
x86::NestShape& nest_of(x86::LoopShape& s) { return s.nest; }

}  // namespace

std::int64_t NativeNest::max_parts(std::int64_t work) const {
  if (!entry_ || args_.size() > kMaxCutArgs || cut_.work < 2 * work) return 1;
  return std::max<std::int64_t>(1, std::min(cut_.units, cut_.work / work));
}

void NativeNest::run_part(std::byte* const* bases, std::int64_t index, std::int64_t count) const {
  if (count == 1) return run(bases);
  const std::int64_t begin = cut_.units * index / count, end = cut_.units * (index + 1) / count;
  std::int64_t args[kMaxCutArgs];
  std::copy(args_.begin(), args_.end(), args);
  if (cut_.is_inner) {
    args[x86::kArgWhole] = (end - begin) * cut_.lanes;
    if (index + 1 < count) args[x86::kArgRest] = 0;
  } else {
    args[x86::kArgExtents] = end - begin;
  }
  for (const auto& [arg, step] : cut_.steps) args[arg] += begin * step;
  in_blocks() ? run_blocks(bases, args) : entry_(bases, args);
}

// The last block of points takes what is left, so that each has a whole trip.
void NativeNest::run_blocks(std::byte* const* bases, const std::int64_t* args) const {
  const NestBlocks& b = *blocks_;
  const std::int64_t points = args[x86::kArgWhole] + args[x86::kArgRest], rounds = args[b.extent];
  std::int64_t own[kMaxCutArgs];
  std::copy(args, args + args_.size(), own);
  for (std::int64_t r = 0; r < rounds; r += b.rounds) {
    own[b.extent] = std::min(b.rounds, rounds - r);
    for (const auto& [arg, less] : b.around) own[arg] = args[arg] + (rounds - own[b.extent]) * less;
    for (std::int64_t p = 0; p < points;) {
      const std::int64_t n = points - p < b.points + b.lanes ? points - p : b.points;
      own[x86::kArgWhole] = n / b.lanes * b.lanes;
      own[x86::kArgRest] = n % b.lanes;
      for (const NestBlocks::Step& s : b.steps) own[s.arg] = args[s.arg] + r * s.round + p * s.point;
      entry_(bases, own);
      p += n;
    }
  }
}

bool NativeNest::has_tiles(std::int64_t rows, std::int64_t cols) const {
  if (!blocks_ || blocks_->points > 0 || !entry_ || args_.size() > kMaxCutArgs) return false;
  const std::int64_t points = args_[x86::kArgWhole] + args_[x86::kArgRest];
  if (blocks_->extent) return points == cols && args_[blocks_->extent] == rows;
  return points == rows * cols && cols % blocks_->lanes == 0;
}

void NativeNest::run_tile(std::byte* const* bases, const Tile& t) const {
  const NestBlocks& b = *blocks_;
  std::int64_t own[kMaxCutArgs];
  std::copy(args_.begin(), args_.end(), own);
  const auto run = [&](std::int64_t row, std::int64_t col, std::int64_t points) {
    own[x86::kArgWhole] = points / b.lanes * b.lanes;
    own[x86::kArgRest] = points % b.lanes;
    for (const NestBlocks::Step& s : b.steps) own[s.arg] = args_[s.arg] + row * s.round + col * s.point;
    entry_(bases, own);
  };
  if (b.extent) {
    own[b.extent] = t.rows;
    return run(t.row, t.col, t.cols);
  }
  if (t.cols == t.width) return run(0, t.row * t.width, t.rows * t.width);
  for (std::int64_t r = t.row; r < t.row + t.rows; ++r) run(0, r * t.width + t.col, t.cols);
}

void NativeNest::run_trips(std::byte* const* bases, std::int64_t count) const {
  if (!entry_) return;
  std::int64_t args[kMaxCutArgs];
  std::copy(args_.begin(), args_.end(), args);
  args[trips_.count] = count;
  for (const auto& [arg, back] : trips_.back) args[arg] = back * count;
  entry_(bases, args);
}

struct NestCompiler::State {
  const Isa isa;
  const bool few_registers;
  const std::shared_ptr<CodeListener> listener;
  std::mutex lock;
  x86::CodeMemory memory;
  struct Made {
    NativeNest::Entry entry;
    std::size_t bytes;
  };
  using CodeRef = std::shared_ptr<const Made>;
  std::unordered_map<std::string, CodeRef> codes;  // by the key of the shape and its trips
  std::once_flag probed;
  std::atomic<bool> is_refused{false};
  std::atomic<std::size_t> shapes{0}, bytes{0};  // read without the lock, which is held while code is emitted

  x86::Target target(CodeNotes* notes) const {
    return {.is_avx512 = isa == Isa::Avx512, .few_registers = few_registers, .notes = notes};
  }
  int reg_bytes() const { return isa == Isa::Avx512 ? 64 : 32; }
  void count() {
    shapes.store(codes.size(), std::memory_order_relaxed);
    bytes.store(memory.bytes(), std::memory_order_relaxed);
  }
  template <class Shape>
  Result<CodeRef> code_of(Shape& shape, const CodeLabel& label);
  template <class Shaped>
  Result<NativeNest> compile(Result<Shaped> shaped, const CodeLabel& label);
  template <class Shaped>
  Result<std::string> listing(const Result<Shaped>& shaped) const;
};

bool NestCompiler::is_available() { return features().hasAVX2() && features().hasFMA(); }

Isa NestCompiler::best_isa() {
  const auto& f = features();
  const bool has = f.hasAVX512_F() && f.hasAVX512_BW() && f.hasAVX512_DQ() && f.hasAVX512_VL();
  return has ? Isa::Avx512 : Isa::Avx2;
}

NestCompiler::NestCompiler(Isa isa, bool few_registers, std::shared_ptr<CodeListener> listener)
    : state_(new State{.isa = isa, .few_registers = few_registers, .listener = std::move(listener)}) {}
NestCompiler::~NestCompiler() = default;

template <class Shape>
Result<NestCompiler::State::CodeRef> NestCompiler::State::code_of(Shape& shape, const CodeLabel& label) {
  const std::string k = key(shape);
  TripSet& trips = nest_of(shape).trips;
  const auto find = [&](TripSet with) { return codes.find(k + static_cast<char>(with)); };
  for (const TripSet with : {x86::kAllTrips, trips})
    if (const auto it = find(with); it != codes.end()) return it->second;
  // The second time for all: no shape has more than two.
  if (find(x86::kWholeTrips) != codes.end() || find(x86::kRestTrips) != codes.end()) trips = x86::kAllTrips;
  if (is_refused) return x86::CodeMemory::refused();
  asmjit::CodeHolder code;
  if (Status s = init(code); !s) return std::move(s).error();
  CodeNotes notes;
  if (Status s = emit(shape, target(listener ? &notes : nullptr), code); !s) return std::move(s).error();
  const Result<void*> at = memory.add(code, listener ? kRoomBehindCode : 0);
  if (!at) {
    if (at.error().code == Code::Memory) is_refused = true;
    return at.error();
  }
  const auto made = std::make_shared<const Made>(Made{reinterpret_cast<NativeNest::Entry>(*at), code.codeSize()});
  codes.emplace(k + static_cast<char>(trips), made);
  if (listener) listener->added(label, {static_cast<const std::byte*>(*at), made->bytes}, notes);
  count();
  return made;
}

template <class Shaped>
Result<NativeNest> NestCompiler::State::compile(Result<Shaped> shaped, const CodeLabel& label) {
  if (!shaped) return std::move(shaped).error();
  if (shaped->is_empty) return NativeNest(nullptr, {});
  const std::lock_guard guard(lock);
  nest_of(shaped->shape).trips = x86::trips_of(nest_of(shaped->shape), shaped->args);
  const Result<CodeRef> code = code_of(shaped->shape, label);
  if (!code) return code.error();
  NativeNest nest((*code)->entry, std::move(shaped->args), std::move(shaped->cut), std::move(shaped->trips), *code);
  if constexpr (requires { shaped->blocks; })
    if (!shaped->blocks.steps.empty()) nest.set_blocks(std::move(shaped->blocks));
  return nest;
}

template <class Shaped>
Result<std::string> NestCompiler::State::listing(const Result<Shaped>& shaped) const {
  if (!shaped) return shaped.error();
  if (shaped->is_empty) return std::string("no points\n");
  asmjit::CodeHolder code;
  if (Status s = init(code); !s) return std::move(s).error();
  asmjit::StringLogger logger;
  code.setLogger(&logger);
  CodeNotes notes;
  if (Status s = emit(shaped->shape, target(&notes), code); !s) return std::move(s).error();
  return std::string(logger.data(), logger.dataSize());
}

bool NestCompiler::is_refused() {
  std::call_once(state_->probed, [&] {
    const std::lock_guard guard(state_->lock);
    if (!state_->memory.is_given()) state_->is_refused = true;
  });
  return state_->is_refused;
}
Result<NativeNest> NestCompiler::compile(const Nest& nest, const CodeLabel& label, bool in_tiles) {
  return state_->compile(x86::take_apart(nest, state_->reg_bytes(), in_tiles), label);
}
Result<NativeNest> NestCompiler::compile(const LoopNest& loop, const CodeLabel& label) {
  return state_->compile(x86::take_apart(loop, state_->reg_bytes()), label);
}
Result<std::string> NestCompiler::listing(const Nest& nest) {
  return state_->listing(x86::take_apart(nest, state_->reg_bytes()));
}
Result<std::string> NestCompiler::listing(const LoopNest& loop) {
  return state_->listing(x86::take_apart(loop, state_->reg_bytes()));
}

NestCompiler::Counts NestCompiler::counts() const {
  return {state_->shapes.load(std::memory_order_relaxed), state_->bytes.load(std::memory_order_relaxed)};
}

void NestCompiler::trim() {
  const std::lock_guard guard(state_->lock);
  std::erase_if(state_->codes, [&](const auto& entry) {
    if (entry.second.use_count() > 1) return false;  // only this map gives a first reference to a nest
    auto* code = reinterpret_cast<std::byte*>(entry.second->entry);
    if (state_->listener) state_->listener->removed(code);
    state_->memory.release(code, entry.second->bytes);
    return true;
  });
  state_->count();
}

}  // namespace tfvm
