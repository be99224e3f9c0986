#include <array>
#include <cstring>

#include <fmt/format.h>

#include "vm/npy/npy.h"

namespace tfvm {

namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;

constexpr std::array<std::uint32_t, 256> kCrc = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}();

std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t c = 0xffffffffu;
  for (std::byte b : bytes) c = kCrc[(c ^ static_cast<std::uint32_t>(b)) & 0xff] ^ (c >> 8);
  return ~c;
}

Error malformed(std::string_view what) { return Error(Code::Syntax, fmt::format(".npz: {}", what)); }

std::uint32_t get(std::span<const std::byte> f, std::size_t at, int bytes) {
  std::uint32_t v = 0;
  for (int k = 0; k < bytes; ++k) v |= static_cast<std::uint32_t>(f[at + static_cast<std::size_t>(k)]) << (8 * k);
  return v;
}

void put(std::vector<std::byte>& out, std::uint64_t v, int bytes) {
  for (int k = 0; k < bytes; ++k) out.push_back(static_cast<std::byte>(v >> (8 * k) & 0xff));
}

void put(std::vector<std::byte>& out, std::string_view s) {
  for (char c : s) out.push_back(static_cast<std::byte>(c));
}

// The end record stands last, before a comment of at most 64 KiB.
Result<std::size_t> find_end(std::span<const std::byte> f) {
  if (f.size() < kEndSize) return malformed("the file is no archive");
  const std::size_t last = f.size() - kEndSize;
  for (std::size_t at = last + 1; at-- > 0 && last - at <= 0xffff;)
    if (get(f, at, 4) == kEnd) return at;
  return malformed("the file is no archive");
}

struct Entry {
  std::string name;
  std::span<const std::byte> data;
  std::size_t next;
};

Result<Entry> read_entry(std::span<const std::byte> f, std::size_t at) {
  if (at > f.size() || f.size() - at < kCentralSize || get(f, at, 4) != kCentral)
    return malformed("the directory is damaged");
  const std::uint32_t method = get(f, at + 10, 2), crc = get(f, at + 16, 4), size = get(f, at + 20, 4);
  const std::size_t name_size = get(f, at + 28, 2), more = get(f, at + 30, 2) + get(f, at + 32, 2);
  const std::size_t local = get(f, at + 42, 4);
  if (f.size() - at - kCentralSize < name_size) return malformed("the directory is damaged");
  Entry e;
  e.name.assign(reinterpret_cast<const char*>(f.data()) + at + kCentralSize, name_size);
  e.next = at + kCentralSize + name_size + more;
  if (method != 0)
    return Error(Code::Unsupported,
                 fmt::format(".npz: '{}' is compressed; write it by numpy.savez, not savez_compressed", e.name));
  if (size == 0xffffffffu || local == 0xffffffffu)
    return Error(Code::Unsupported, fmt::format(".npz: '{}' is in a ZIP64 archive", e.name));
  if (local > f.size() || f.size() - local < kLocalSize || get(f, local, 4) != kLocal)
    return malformed(fmt::format("'{}' is damaged", e.name));
  const std::size_t data = local + kLocalSize + get(f, local + 26, 2) + get(f, local + 28, 2);
  if (data > f.size() || f.size() - data < size) return malformed(fmt::format("'{}' is cut off", e.name));
  e.data = f.subspan(data, size);
  if (crc32(e.data) != crc) return malformed(fmt::format("the checksum of '{}' is wrong", e.name));
  return e;
}

}  // namespace

Result<NamedTensors> parse_npz(std::span<const std::byte> file, const BudgetRef& budget) {
  const auto end = find_end(file);
  if (!end) return end.error();
  const std::uint32_t count = get(file, *end + 10, 2);
  std::size_t at = get(file, *end + 16, 4);
  NamedTensors out;
  for (std::uint32_t k = 0; k < count; ++k) {
    auto e = read_entry(file, at);
    if (!e) return e.error();
    at = e->next;
    auto t = parse_npy(e->data, budget);
    if (!t) return std::move(t).error().note(fmt::format("in '{}'", e->name));
    if (e->name.ends_with(".npy")) e->name.resize(e->name.size() - 4);
    out.emplace_back(std::move(e->name), *std::move(t));
  }
  return out;
}

Result<std::vector<std::byte>> to_npz(const NamedTensors& tensors) {
  std::vector<std::byte> out, directory;
  for (const auto& [name, tensor] : tensors) {
    const std::vector<std::byte> data = to_npy(tensor);
    const std::string file = name + ".npy";
    const std::size_t local = out.size();
    if (data.size() + local > 0xfffffff0u || tensors.size() > 0xfffe || file.size() > 0xffff)
      return Error(Code::Unsupported, ".npz: 4 GiB or 65535 arrays need a ZIP64 archive");
    std::vector<std::byte> common;  // version needed … length of the extra field: the same in both headers
    put(common, 20, 2);
    put(common, 0, 2);            // flags
    put(common, 0, 2);            // stored
    put(common, 0x00210000u, 4);  // 1980-01-01: files of equal content are equal
    put(common, crc32(data), 4);
    put(common, data.size(), 4);
    put(common, data.size(), 4);
    put(common, file.size(), 2);
    put(common, 0, 2);
    put(out, kLocal, 4);
    out.insert(out.end(), common.begin(), common.end());
    put(out, file);
    out.insert(out.end(), data.begin(), data.end());
    put(directory, kCentral, 4);
    put(directory, 20, 2);  // made by
    directory.insert(directory.end(), common.begin(), common.end());
    put(directory, 0, 2 + 2 + 2);  // comment, disk, internal attributes
    put(directory, 0, 4);          // external attributes
    put(directory, local, 4);
    put(directory, file);
  }
  const std::size_t begin = out.size();
  out.insert(out.end(), directory.begin(), directory.end());
  put(out, kEnd, 4);
  put(out, 0, 4);  // disks
  put(out, tensors.size(), 2);
  put(out, tensors.size(), 2);
  put(out, directory.size(), 4);
  put(out, begin, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace tfvm
