#pragma once
// The functions that a VM has ready, by callee and argument types: least recently used ones go when they are more than
// a number of bytes. What goes lives on where the host, or a call on another thread, still has it. Under the lock of
// the VM; a call of a function that the host has does not come here.

#include <list>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "vm/function.h"

namespace tfvm {

struct CacheOptions {
  // Of functions, and as much again of what they were made of (bodies, results of passes, machine code; VM::forget).
  std::int64_t bytes = std::int64_t{64} << 20;
  std::string folder;  // for later processes (vm/cache/disk.h); empty: none
};
// The defaults, changed by TFVM_CACHE_BYTES=N, TFVM_CACHE_DIR=FOLDER.
CacheOptions cache_options_of_environment();

struct CacheStats {
  std::int64_t hits = 0, misses = 0, evictions = 0;  // of functions
  std::int64_t forgets = 0;                          // how often all that functions were made of has gone
  std::int64_t functions = 0, bytes = 0;             // that are ready now, and what they take, about
  std::int64_t made_bytes = 0, code_bytes = 0;       // what they were made of, about; machine code
  std::int64_t disk_hits = 0, disk_misses = 0, disk_stores = 0;
  std::int64_t limit = 0;  // CacheOptions::bytes
};

struct FunctionKey {
  std::string callee;
  std::vector<ArgType> args;
  friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
};

// Why there is nothing for a key: the guard that the nearest function of that callee misses.
struct Miss {
  enum class Kind : std::uint8_t { First, Evicted, Count, Pack, Rank, DType, Dim } kind = Kind::First;
  std::size_t arg = 0, dim = 0;
  ArgType was, now;
  std::int64_t counts[2] = {0, 0};  // Count: of arguments, was and now
};
// "argument 0 %x: dim 1 is 4, was 3": `name` is that of the argument, or empty.
std::string text(const Miss& m, std::string_view name);

class FunctionCache {
 public:
  explicit FunctionCache(CacheOptions options) : limit_(options.bytes) {}

  const Function* find(const FunctionKey& key);  // null: none
  void add(FunctionKey key, const Function& f, std::int64_t bytes);
  Miss miss(const FunctionKey& key) const;
  // Those that hold what they were made of (Function::hold).
  void drop_holders();
  CacheStats stats() const;
  std::int64_t limit() const { return limit_; }

 private:
  struct Entry {
    FunctionKey key;
    Function function;
    std::int64_t bytes;
  };
  using Entries = std::list<Entry>;  // last used first
  struct Hash {
    std::size_t operator()(const FunctionKey& k) const;
  };
  void drop(Entries::iterator it);

  const std::int64_t limit_;
  std::int64_t bytes_ = 0, hits_ = 0, misses_ = 0, evictions_ = 0;
  Entries entries_;
  std::unordered_map<FunctionKey, Entries::iterator, Hash> index_;
  std::unordered_set<std::size_t> gone_;  // hashes of keys that were evicted, up to a bound
};

// About what a function takes with all that it calls: records, constants, interpreted nests.
std::int64_t bytes_of(const Function& f);

}  // namespace tfvm
