#include "vm/cache/disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace tfvm {

namespace {

constexpr char kMagic[8] = {'T', 'F', 'V', 'M', 'f', 'n', '0', '1'};
constexpr std::string_view kSuffix = ".tfvm", kTemporary = ".tmp-";
constexpr std::size_t kCountEvery = 64;  // stores between two looks at how many entries there are

// The header is followed by key, then value.
struct Header {
  char magic[8];
  XXH128_hash_t hash;  // of all that follows
  std::uint64_t key_bytes, value_bytes;
};
static_assert(sizeof(Header) == 40);

XXH128_hash_t hash_of(std::span<const std::byte> entry) {
  constexpr std::size_t kFrom = offsetof(Header, key_bytes);
  return XXH3_128bits(entry.data() + kFrom, entry.size() - kFrom);
}

struct Close {
  void operator()(DIR* d) const { closedir(d); }
};

// Calls fn(name, status) on each entry and each leftover of a write that was cut short.
template <class Fn>
void for_each_file(int folder, Fn fn) {
  const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const std::unique_ptr<DIR, Close> dir(fdopendir(fd));
  if (!dir) {
    close(fd);
    return;
  }
  while (const dirent* e = readdir(dir.get())) {
    const std::string_view name = e->d_name;
    struct stat st;
    if (!name.ends_with(kSuffix) && !name.starts_with(kTemporary)) continue;
    if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) fn(e->d_name, st);
  }
}

}  // namespace

DiskCache::DiskCache(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    why_off_ = fmt::format("'{}' can't be made: {}", folder, std::strerror(errno));
    return;
  }
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0)
    why_off_ = fmt::format("'{}' can't be opened: {}", folder, std::strerror(errno));
  else if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
    why_off_ = fmt::format("'{}' is another user's, or open to others (its mode must be 0700)", folder);
  if (why_off_.empty())
    folder_ = fd;
  else if (fd >= 0)
    close(fd);
}

DiskCache::~DiskCache() {
  if (folder_ >= 0) close(folder_);
}

std::string DiskCache::file_of(std::span<const std::byte> key) {
  const XXH128_hash_t h = XXH3_128bits(key.data(), key.size());
  return fmt::format("{:016x}{:016x}{}", h.high64, h.low64, kSuffix);
}

std::vector<std::byte> DiskCache::pack(std::span<const std::byte> key, std::span<const std::byte> value) {
  Header h{};
  std::copy(std::begin(kMagic), std::end(kMagic), h.magic);
  h.key_bytes = key.size(), h.value_bytes = value.size();
  std::vector<std::byte> out(sizeof h);
  std::memcpy(out.data(), &h, sizeof h);
  out.insert(out.end(), key.begin(), key.end());
  out.insert(out.end(), value.begin(), value.end());
  h.hash = hash_of(out);
  std::memcpy(out.data(), &h, sizeof h);
  return out;
}

std::optional<std::vector<std::byte>> DiskCache::unpack(std::span<const std::byte> entry,
                                                        std::span<const std::byte> key) {
  Header h;
  if (entry.size() < sizeof h) return std::nullopt;
  std::memcpy(&h, entry.data(), sizeof h);
  const std::size_t rest = entry.size() - sizeof h;
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 || h.key_bytes != key.size() || h.key_bytes > rest ||
      h.value_bytes != rest - h.key_bytes || !XXH128_isEqual(h.hash, hash_of(entry)) ||
      !std::ranges::equal(entry.subspan(sizeof h, key.size()), key))
    return std::nullopt;
  const auto value = entry.subspan(sizeof h + key.size());
  return std::vector<std::byte>(value.begin(), value.end());
}

std::optional<std::vector<std::byte>> DiskCache::load(std::span<const std::byte> key) const {
  if (!is_on()) return std::nullopt;
  const int fd = openat(folder_, file_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::vector<std::byte> bytes;
  struct stat st;
  std::size_t at = 0;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
      static_cast<std::size_t>(st.st_size) <= kMostBytes) {
    bytes.resize(static_cast<std::size_t>(st.st_size));
    while (at < bytes.size()) {
      const ssize_t n = read(fd, bytes.data() + at, bytes.size() - at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      at += static_cast<std::size_t>(n);
    }
  }
  close(fd);
  return at == bytes.size() ? unpack(bytes, key) : std::nullopt;
}

bool DiskCache::write(const std::string& name, std::span<const std::byte> bytes) const {
  const int fd = openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
  const bool closed = close(fd) == 0;
  if (at == bytes.size() && closed) return true;
  unlinkat(folder_, name.c_str(), 0);
  return false;
}

bool DiskCache::store(std::span<const std::byte> key, std::span<const std::byte> value) {
  if (!is_on()) return false;
  const std::vector<std::byte> bytes = pack(key, value);
  if (bytes.size() > kMostBytes) return false;
  const std::size_t n = stored_.fetch_add(1, std::memory_order_relaxed);
  const std::string beside = fmt::format("{}{}-{}-{}", kTemporary, getpid(), reinterpret_cast<std::uintptr_t>(this), n);
  if (!write(beside, bytes)) return false;
  if (renameat(folder_, beside.c_str(), folder_, file_of(key).c_str()) != 0) {
    unlinkat(folder_, beside.c_str(), 0);
    return false;
  }
  if (n % kCountEvery == 0) drop_oldest();
  return true;
}

void DiskCache::drop_oldest() {
  struct File {
    std::string name;
    timespec at;
  };
  std::vector<File> files;
  for_each_file(folder_, [&](const char* name, const struct stat& st) { files.push_back({name, st.st_mtim}); });
  if (files.size() <= kMost) return;
  std::ranges::sort(files, [](const File& a, const File& b) {
    return a.at.tv_sec != b.at.tv_sec ? a.at.tv_sec < b.at.tv_sec : a.at.tv_nsec < b.at.tv_nsec;
  });
  for (std::size_t k = 0; k < files.size() - kMost * 3 / 4; ++k) unlinkat(folder_, files[k].name.c_str(), 0);
}

DiskStats DiskCache::stats() const {
  DiskStats s;
  if (!is_on()) return s;
  for_each_file(folder_, [&](std::string_view name, const struct stat& st) {
    s.entries += name.ends_with(kSuffix);
    s.bytes += st.st_size;
  });
  return s;
}

std::int64_t DiskCache::clear() {
  std::int64_t n = 0;
  std::vector<std::string> names;
  if (is_on()) for_each_file(folder_, [&](const char* name, const struct stat&) { names.emplace_back(name); });
  for (const std::string& name : names)
    if (unlinkat(folder_, name.c_str(), 0) == 0) n += name.ends_with(kSuffix);
  return n;
}

std::string build_id() {
  struct Search {
    std::uintptr_t inside;
    std::string id;
  } search{reinterpret_cast<std::uintptr_t>(&build_id), {}};
  const auto look = [](dl_phdr_info* info, std::size_t, void* data) -> int {
    auto& s = *static_cast<Search*>(data);
    bool ours = false;
    for (int k = 0; k < info->dlpi_phnum; ++k) {
      const auto& p = info->dlpi_phdr[k];
      ours = ours || (p.p_type == PT_LOAD && s.inside - (info->dlpi_addr + p.p_vaddr) < p.p_memsz);
    }
    for (int k = 0; ours && k < info->dlpi_phnum; ++k) {
      const auto& p = info->dlpi_phdr[k];
      if (p.p_type != PT_NOTE) continue;
      const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + p.p_vaddr);
      for (const char* end = at + p.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
        const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
        const char* name = at + sizeof *note;
        const char* desc = name + (note->n_namesz + 3u) / 4 * 4;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
          s.id.assign(desc, note->n_descsz);
        at = desc + (note->n_descsz + 3u) / 4 * 4;
      }
    }
    return ours;
  };
  dl_iterate_phdr(look, &search);
  return search.id;
}

}  // namespace tfvm
