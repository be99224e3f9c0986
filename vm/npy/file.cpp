#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/npy/npy.h"

namespace tfvm {

namespace {

struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Close>;

Error io_error(std::string_view doing, const std::string& path) {
  return Error(Code::Io, fmt::format("can't {} '{}': {}", doing, path, std::strerror(errno)));
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path) {
  if (path.find('\0') != path.npos) return Error(Code::Io, "can't read a file whose name has a zero byte");
  const File f(std::fopen(path.c_str(), "rb"));
  if (!f) return io_error("read", path);
  struct stat info {};
  if (fstat(fileno(f.get()), &info) != 0) return io_error("read", path);
  if (S_ISDIR(info.st_mode)) return Error(Code::Io, fmt::format("can't read '{}': it is a folder", path));
  std::vector<std::byte> bytes(static_cast<std::size_t>(info.st_size));
  std::size_t n = bytes.empty() ? 0 : std::fread(bytes.data(), 1, bytes.size(), f.get());
  while (n == bytes.size()) {  // pipes and the like have no size
    std::byte chunk[4096];
    const std::size_t more = std::fread(chunk, 1, sizeof chunk, f.get());
    if (more == 0) break;
    bytes.insert(bytes.end(), chunk, chunk + more);
    n += more;
  }
  if (std::ferror(f.get())) return io_error("read", path);
  bytes.resize(n);
  return bytes;
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string beside = fmt::format("{}.{}.part", path, ::getpid());
  {
    File f(std::fopen(beside.c_str(), "wb"));
    if (!f) return io_error("write", path);
    const bool written = bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), f.get()) == bytes.size();
    const bool closed = std::fclose(f.release()) == 0;
    if (!written || !closed) {
      const Error e = io_error("write", path);
      std::remove(beside.c_str());
      return e;
    }
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    const Error e = io_error("write", path);
    std::remove(beside.c_str());
    return e;
  }
  return ok();
}

Result<Tensor> read_npy(const std::string& path, const BudgetRef& budget) {
  const auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  auto t = parse_npy(*bytes, budget);
  return t ? std::move(t) : Result<Tensor>(std::move(t).error().note(fmt::format("in '{}'", path)));
}

Status write_npy(const std::string& path, const Tensor& t) { return write_file(path, to_npy(t)); }

Result<NamedTensors> read_npz(const std::string& path, const BudgetRef& budget) {
  const auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  auto t = parse_npz(*bytes, budget);
  return t ? std::move(t) : Result<NamedTensors>(std::move(t).error().note(fmt::format("in '{}'", path)));
}

Status write_npz(const std::string& path, const NamedTensors& tensors) {
  const auto bytes = to_npz(tensors);
  return bytes ? write_file(path, *bytes) : Status(bytes.error());
}

}  // namespace tfvm
