#include "vm/cache/function_cache.h"

#include <cstdlib>

#include <fmt/format.h>

#include "bytecode/hash.h"

namespace tfvm {

namespace {

constexpr std::size_t kMostGone = std::size_t{1} << 16;

// How far two guards are apart: the least wins, so that the message names as little as it can.
std::size_t distance(const ArgType& a, const ArgType& b) {
  if (a == b) return 0;
  if (a.pack != kNone<TypeId> || b.pack != kNone<TypeId> || a.dims.size() != b.dims.size()) return 16;
  std::size_t d = a.dtype != b.dtype ? 8 : 0;
  for (std::size_t k = 0; k < a.dims.size(); ++k) d += a.dims[k] != b.dims[k];
  return d;
}

std::size_t distance(const FunctionKey& a, const FunctionKey& b) {
  if (a.args.size() != b.args.size()) return std::size_t{1} << 20;
  std::size_t d = 0;
  for (std::size_t k = 0; k < a.args.size(); ++k) d += 32 * (a.args[k] != b.args[k]) + distance(a.args[k], b.args[k]);
  return d;
}

Miss first_difference(const FunctionKey& was, const FunctionKey& now) {
  Miss m;
  if (was.args.size() != now.args.size()) {
    m.kind = Miss::Kind::Count;
    m.counts[0] = std::ssize(was.args), m.counts[1] = std::ssize(now.args);
    return m;
  }
  while (was.args[m.arg] == now.args[m.arg]) ++m.arg;
  m.was = was.args[m.arg], m.now = now.args[m.arg];
  if (m.was.pack != m.now.pack)
    m.kind = Miss::Kind::Pack;
  else if (m.was.dims.size() != m.now.dims.size())
    m.kind = Miss::Kind::Rank;
  else if (m.was.dtype != m.now.dtype)
    m.kind = Miss::Kind::DType;
  else
    m.kind = Miss::Kind::Dim;
  while (m.kind == Miss::Kind::Dim && m.was.dims[m.dim] == m.now.dims[m.dim]) ++m.dim;
  return m;
}

}  // namespace

CacheOptions cache_options_of_environment() {
  CacheOptions o;
  if (const char* bytes = std::getenv("TFVM_CACHE_BYTES")) {
    char* end = nullptr;
    const long long n = std::strtoll(bytes, &end, 10);
    if (end != bytes && *end == 0 && n >= 0) o.bytes = n;
  }
  if (const char* folder = std::getenv("TFVM_CACHE_DIR")) o.folder = folder;
  return o;
}

std::string text(const ArgType& a) { return a.pack == kNone<TypeId> ? type_text(a.dtype, a.dims) : "pack"; }

std::string text(const Miss& m, std::string_view arg_name) {
  const std::string arg =
      arg_name.empty() ? fmt::format("argument {}", m.arg) : fmt::format("argument {} %{}", m.arg, arg_name);
  switch (m.kind) {
    case Miss::Kind::First:
      return "it is not prepared at all";
    case Miss::Kind::Evicted:
      return "it was evicted: the cache is full";
    case Miss::Kind::Count:
      return fmt::format("{} arguments, were {}", m.counts[1], m.counts[0]);
    case Miss::Kind::Pack:
      if (m.was.pack == kNone<TypeId> || m.now.pack == kNone<TypeId>)
        return fmt::format("{} is {}, was {}", arg, text(m.now), text(m.was));
      return arg + " is a pack of another call";
    case Miss::Kind::Rank:
      return fmt::format("{}: rank is {}, was {}", arg, m.now.dims.size(), m.was.dims.size());
    case Miss::Kind::DType:
      return fmt::format("{}: dtype is {}, was {}", arg, name(m.now.dtype), name(m.was.dtype));
    case Miss::Kind::Dim:
      return fmt::format("{}: dim {} is {}, was {}", arg, m.dim, m.now.dims[m.dim], m.was.dims[m.dim]);
  }
  return {};
}

std::size_t FunctionCache::Hash::operator()(const FunctionKey& k) const {
  std::uint64_t h = hash_bytes(k.callee.data(), k.callee.size());
  for (const ArgType& a : k.args) {
    h = hash_mix(h, static_cast<std::uint64_t>(a.dtype) << 32 | index(a.pack));
    h = hash_span(std::span<const std::int64_t>(a.dims), h);
  }
  return static_cast<std::size_t>(h);
}

const Function* FunctionCache::find(const FunctionKey& key) {
  const auto it = index_.find(key);
  if (it == index_.end()) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  entries_.splice(entries_.begin(), entries_, it->second);
  return &it->second->function;
}

void FunctionCache::drop(Entries::iterator it) {
  bytes_ -= it->bytes;
  index_.erase(it->key);
  entries_.erase(it);
}

void FunctionCache::add(FunctionKey key, const Function& f, std::int64_t bytes) {
  if (bytes > limit_) return;
  gone_.erase(Hash()(key));
  if (const auto it = index_.find(key); it != index_.end()) drop(it->second);
  bytes_ += bytes;
  entries_.push_front({key, f, bytes});
  index_.emplace(std::move(key), entries_.begin());
  while (bytes_ > limit_) {
    if (gone_.size() >= kMostGone) gone_.clear();
    gone_.insert(Hash()(entries_.back().key));
    ++evictions_;
    drop(std::prev(entries_.end()));
  }
}

Miss FunctionCache::miss(const FunctionKey& key) const {
  const FunctionKey* nearest = nullptr;
  std::size_t least = 0;
  for (const Entry& e : entries_) {
    if (e.key.callee != key.callee) continue;
    const std::size_t d = distance(e.key, key);
    if (nearest && d >= least) continue;
    nearest = &e.key;
    least = d;
  }
  Miss m;
  if (gone_.contains(Hash()(key))) m.kind = Miss::Kind::Evicted;
  return m.kind == Miss::Kind::Evicted || !nearest ? m : first_difference(*nearest, key);
}

void FunctionCache::drop_holders() {
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto at = it++;
    if (!at->function.hold) continue;
    ++evictions_;
    drop(at);
  }
}

CacheStats FunctionCache::stats() const {
  CacheStats s;
  s.hits = hits_, s.misses = misses_, s.evictions = evictions_;
  s.functions = std::ssize(entries_);
  s.bytes = bytes_;
  s.limit = limit_;
  return s;
}

}  // namespace tfvm
