// The log of reinplace in words.
#include "functionalize/reinplace.h"

namespace tfvm {

namespace {

std::string list(std::span<const std::uint32_t> v) {
  std::string s;
  for (std::uint32_t i : v) s += (s.empty() ? "" : ",") + std::to_string(i);
  return '[' + s + ']';
}

}  // namespace

std::int64_t ReinplaceEntry::bytes() const {
  std::int64_t n = 0;
  for (const Missed& m : missed) n += m.bytes;
  return n;
}

std::string_view name(Missed::How how) {
  return how == Missed::How::Base ? "missed" : how == Missed::How::Fresh ? "fresh" : "saved";
}

std::string text(const ReinplaceEntry& e) {
  std::string s = e.op + " " + e.custom + (e.line ? " line " + std::to_string(e.line) : "") + ": bases " +
                  list(e.tried) + "; in place " + list(e.done);
  for (const Missed& m : e.missed)
    s += "; " + std::string(name(m.how)) + " [" + std::to_string(m.base) + "] " + m.value + ": " + m.why;
  return s + "; " + std::to_string(e.bytes()) + " bytes";
}

}  // namespace tfvm
