#include "vm/safetensors/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bytecode/text/string_text.h"
#include "vm/safetensors/header.h"

namespace tfvm {

namespace {

constexpr std::size_t kLength = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the reference implementation

struct Name {
  DType dtype;
  std::string_view text;
};
constexpr Name kNames[] = {{DType::Bool, "BOOL"}, {DType::I8, "I8"},   {DType::I16, "I16"},   {DType::I32, "I32"},
                           {DType::I64, "I64"},   {DType::U8, "U8"},   {DType::U16, "U16"},   {DType::U32, "U32"},
                           {DType::U64, "U64"},   {DType::F16, "F16"}, {DType::BF16, "BF16"}, {DType::F32, "F32"},
                           {DType::F64, "F64"},   {DType::C64, "C64"}};

Error malformed(std::string_view what) { return Error(Code::Syntax, fmt::format("safetensors: {}", what)); }

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Tensor> tensor_of(const safetensors::Entry& e, std::span<const std::byte> data, const BudgetRef& budget) {
  const auto* row = std::ranges::find(kNames, std::string_view(e.dtype), &Name::text);
  if (row == std::end(kNames))
    return Error(Code::Unsupported, fmt::format("safetensors: {} has the dtype {}, which has no counterpart",
                                                quoted(e.name), quoted(e.dtype)));
  const auto elements = checked_elements(e.shape);
  if (!elements || *elements > (std::int64_t{1} << 58) || *elements * size_of(row->dtype) != e.end - e.begin)
    return malformed(fmt::format("{} has {} bytes, which don't hold {}", quoted(e.name), e.end - e.begin,
                                 type_text(row->dtype, e.shape)));
  const auto bytes = data.subspan(static_cast<std::size_t>(e.begin), static_cast<std::size_t>(e.end - e.begin));
  if (row->dtype == DType::Bool && std::ranges::any_of(bytes, [](std::byte b) { return b > std::byte{1}; }))
    return malformed(fmt::format("{} holds a bool that is neither 0 nor 1", quoted(e.name)));
  return Tensor::make(budget, row->dtype, e.shape, bytes);
}

}  // namespace

Result<NamedTensors> parse_safetensors(std::span<const std::byte> file, const BudgetRef& budget) {
  std::uint64_t length = 0;
  if (file.size() < kLength) return malformed("the file has no header");
  std::memcpy(&length, file.data(), kLength);
  if (length > kMaxHeader || length > file.size() - kLength)
    return malformed("the header is longer than the file, or than 100 MB");
  const auto header = file.subspan(kLength, static_cast<std::size_t>(length)),
             data = file.subspan(kLength + header.size());
  Result<std::vector<safetensors::Entry>> entries = safetensors::parse_header(text_of(header));
  if (!entries) return std::move(entries).error();
  std::ranges::stable_sort(*entries, {}, [](const safetensors::Entry& e) { return std::pair(e.begin, e.end); });
  std::int64_t at = 0;
  NamedTensors out;
  for (const safetensors::Entry& e : *entries) {
    if (e.begin != at || e.end < e.begin)
      return malformed(fmt::format("{} does not start where the tensor before it ends", quoted(e.name)));
    at = e.end;
    if (at > static_cast<std::int64_t>(data.size()))
      return malformed(fmt::format("{} ends behind the file", quoted(e.name)));
    Result<Tensor> t = tensor_of(e, data, budget);
    if (!t) return std::move(t).error();
    out.emplace_back(e.name, *std::move(t));
  }
  if (at != static_cast<std::int64_t>(data.size())) return malformed("bytes behind the last tensor");
  return out;
}

Result<std::vector<std::byte>> to_safetensors(const NamedTensors& tensors) {
  std::string header = "{";
  std::int64_t at = 0;
  std::unordered_set<std::string_view> names;
  for (const auto& [name, t] : tensors) {
    if (name == "__metadata__" || !names.insert(name).second)
      return Error(Code::Type, fmt::format("safetensors: the name {} can't be given twice", quoted(name)));
    const auto* row = std::ranges::find(kNames, t.dtype(), &Name::dtype);
    if (row == std::end(kNames))
      return Error(Code::Unsupported,
                   fmt::format("safetensors: {} is {}, which the format has not", quoted(name), t.type_text()));
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          at || header.size() > 1 ? "," : "", quoted(name), row->text, fmt::join(t.dims(), ","), at,
                          at + t.bytes());
    at += t.bytes();
  }
  header += '}';
  header.resize(static_cast<std::size_t>(align_up(static_cast<std::int64_t>(header.size()), 8)), ' ');
  std::vector<std::byte> out(kLength + header.size() + static_cast<std::size_t>(at));
  const std::uint64_t length = header.size();
  std::memcpy(out.data(), &length, kLength);
  std::memcpy(out.data() + kLength, header.data(), header.size());
  std::span<std::byte> rest = std::span(out).subspan(kLength + header.size());
  for (const auto& [name, t] : tensors) {
    t.copy_to(rest.first(static_cast<std::size_t>(t.bytes())));
    rest = rest.subspan(static_cast<std::size_t>(t.bytes()));
  }
  return out;
}

Result<NamedTensors> read_safetensors(const std::string& path, const BudgetRef& budget) {
  const auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  auto t = parse_safetensors(*bytes, budget);
  return t ? std::move(t) : Result<NamedTensors>(std::move(t).error().note(fmt::format("in '{}'", path)));
}

Status write_safetensors(const std::string& path, const NamedTensors& tensors) {
  const auto bytes = to_safetensors(tensors);
  return bytes ? write_file(path, *bytes) : Status(bytes.error());
}

}  // namespace tfvm
