#include "vm/safetensors/header.h"

#include <charconv>
#include <unordered_set>

#include <fmt/format.h>

#include "bytecode/text/string_text.h"

namespace tfvm::safetensors {

namespace {

class Reader {
 public:
  explicit Reader(std::string_view json) : json_(json) {}

  bool entries(std::vector<Entry>& out) {
    std::unordered_set<std::string> names;
    return object([&](std::string name) {
             if (!names.insert(name).second) return fail(fmt::format("the name {} twice", quoted(name)));
             if (name == "__metadata__") return metadata();
             Entry e;
             e.name = std::move(name);
             if (!entry(e)) return false;
             out.push_back(std::move(e));
             return true;
           }) &&
           (space(), at_ == json_.size() || fail("something behind the header's object"));
  }
  Error error() const {
    return Error(Code::Syntax, fmt::format("safetensors: byte {} of the header: {}", at_, error_));
  }

 private:
  bool fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return false;
  }
  void space() {
    while (at_ < json_.size() && (json_[at_] == ' ' || json_[at_] == '\n' || json_[at_] == '\t' || json_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= json_.size() || json_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool expect(char c) { return take(c) || fail(fmt::format("expected '{}'", c)); }

  bool string(std::string& out) {
    if (!expect('"')) return false;
    const std::size_t begin = at_;
    while (at_ < json_.size() && json_[at_] != '"') at_ += json_[at_] == '\\' ? 2 : 1;
    if (at_ >= json_.size()) return fail("a string without end");
    const std::string_view text = json_.substr(begin, at_ - begin);
    if (const std::size_t bad = unescape(text, out); bad != text.npos) return fail("a bad escape or control character");
    ++at_;
    return true;
  }

  bool integer(std::int64_t& out) {
    space();
    const char* begin = json_.data() + at_;
    const auto [end, failure] = std::from_chars(begin, json_.data() + json_.size(), out);
    if (failure != std::errc() || out < 0) return fail("expected a count");
    at_ += static_cast<std::size_t>(end - begin);
    return true;
  }

  bool integers(std::vector<std::int64_t>& out, std::size_t most) {
    if (!expect('[')) return false;
    if (take(']')) return true;
    do {
      if (out.size() == most) return fail(fmt::format("a list of more than {} numbers", most));
      if (!integer(out.emplace_back())) return false;
    } while (take(','));
    return expect(']');
  }

  template <class Member>
  bool object(const Member& member) {
    if (!expect('{')) return false;
    if (take('}')) return true;
    do {
      std::string key;
      if (!string(key) || !expect(':') || !member(std::move(key))) return false;
    } while (take(','));
    return expect('}');
  }

  bool metadata() {
    return object([&](std::string) {
      std::string value;
      return string(value);
    });
  }

  bool entry(Entry& e) {
    bool dtype = false, shape = false, offsets = false;
    const auto once = [&](bool& seen) { return !std::exchange(seen, true) || fail("a member twice"); };
    const bool read = object([&](std::string key) {
      std::vector<std::int64_t> places;
      if (key == "dtype") return once(dtype) && string(e.dtype);
      if (key == "shape") return once(shape) && integers(e.shape, 64);
      if (key != "data_offsets") return fail(fmt::format("a tensor has no member {}", quoted(key)));
      if (!once(offsets) || !integers(places, 2)) return false;
      if (places.size() != 2) return fail("data_offsets has two numbers");
      e.begin = places[0], e.end = places[1];
      return true;
    });
    return read && ((dtype && shape && offsets) || fail("a tensor has dtype, shape and data_offsets"));
  }

  std::string_view json_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

Result<std::vector<Entry>> parse_header(std::string_view json) {
  Reader reader(json);
  std::vector<Entry> out;
  if (!reader.entries(out)) return reader.error();
  return out;
}

}  // namespace tfvm::safetensors
