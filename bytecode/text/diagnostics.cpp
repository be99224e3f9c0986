#include "bytecode/text/diagnostics.h"

#include <algorithm>
#include <span>

#include "bytecode/text/lexer.h"

namespace tfvm {

namespace {

constexpr std::size_t kWidth = 160;  // of a shown line; longer ones are cut around the caret

std::string_view line_of(std::string_view source, std::uint32_t line) {
  for (std::uint32_t k = 1; k < line; ++k) {
    const std::size_t end = source.find('\n');
    if (end == source.npos) return {};
    source.remove_prefix(end + 1);
  }
  source = source.substr(0, source.find('\n'));
  if (source.ends_with('\r')) source.remove_suffix(1);
  return source;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

bool is_printable(char c) { return static_cast<unsigned char>(c) >= 0x20 || c == '\t'; }

void append_caret(std::string& out, std::string_view line, std::size_t col) {
  col = std::min(col, line.size());
  std::size_t begin = col > kWidth / 2 ? col - kWidth / 2 : 0;
  while (begin > 0 && is_continuation(line[begin])) --begin;
  std::size_t end = std::min(line.size(), begin + kWidth);
  while (end < line.size() && is_continuation(line[end])) ++end;
  const std::string_view dots = begin > 0 ? "…" : "";
  out.append("  ").append(dots);
  for (char c : line.substr(begin, end - begin)) out += is_printable(c) ? c : '?';  // no control codes on a terminal
  out.append(end < line.size() ? "…" : "");
  out.append("\n  ").append(dots.empty() ? "" : " ");
  for (std::size_t k = begin; k < col; ++k)
    if (!is_continuation(line[k])) out += line[k] == '\t' ? '\t' : ' ';
  out += "^\n";
}

// As it may stand on a terminal: names of a binary and paths hold any bytes.
std::string shown(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7f) c = '?';
  return out;
}

// A deep stack is cut in the middle.
void append_notes(std::string& out, std::span<const std::string> notes) {
  constexpr std::size_t kFirst = 8, kLast = 4;
  const std::size_t cut = notes.size() > kFirst + kLast + 1 ? notes.size() - kFirst - kLast : 0;
  for (std::size_t k = 0; k < notes.size(); ++k) {
    if (cut > 0 && k == kFirst) {
      out += "note: … " + std::to_string(cut) + " more\n";
      k += cut;
    }
    out += "note: " + shown(notes[k]) + '\n';
  }
}

bool is_printable(std::string_view line) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 ? c != '\t' : c == 0x7f; };
  return find_non_text(line) == line.npos && std::ranges::none_of(line, is_control);
}

}  // namespace

std::string render_error(const Error& error, std::string_view source, const StringTable& strings) {
  std::string out;
  const Loc& loc = error.loc;
  if (loc.line != 0) {
    if (loc.file != kNone<StrId>) (out += shown(strings[loc.file])) += ':';
    out += std::to_string(loc.line) + ':' + std::to_string(loc.col) + ": ";
  }
  out += "error: " + shown(error.message) + '\n';
  if (loc.line != 0 && !source.empty())
    if (const std::string_view line = line_of(source, loc.line); loc.col != 0 && !line.empty() && is_printable(line))
      append_caret(out, line, loc.col - 1);
  append_notes(out, error.notes);
  return out;
}

}  // namespace tfvm
