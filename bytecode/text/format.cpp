// Canonical text with the comments of the source.

#include <algorithm>

#include "bytecode/text/print.h"
#include "bytecode/text/printer.h"

namespace tfvm {

namespace {

std::vector<bool> blank_lines(std::string_view source) {
  std::vector<bool> out{false};  // counts from 1
  while (!source.empty()) {
    const std::size_t end = source.find('\n');
    out.push_back(source.substr(0, end).find_first_not_of(" \t\r") == source.npos);
    source.remove_prefix(end == source.npos ? source.size() : end + 1);
  }
  return out;
}

// Puts each comment before the line of output whose source comes after it: behind the line before, or on lines of its
// own where it had one.
class Comments final : public LineHook {
 public:
  Comments(std::string_view source, const std::vector<Comment>& comments)
      : source_(source), comments_(comments), blank_(blank_lines(source)) {}

  void before(std::string& out, Kind kind, std::uint32_t line, int indent, bool first, bool blank) override {
    bool at_top = first;
    bool force = kind == Kind::Item && blank;
    for (; next_ < comments_.size() && comments_[next_].line < line; ++next_) {
      const Comment& c = comments_[next_];
      const std::string_view text = source_.substr(c.begin, c.end - c.begin);
      if (!c.own_line && !out.empty()) {
        out.pop_back();
        out.append("  ").append(text) += '\n';
        continue;
      }
      separate(out, c.line, at_top, force);
      out.append(2 * static_cast<std::size_t>(indent), ' ').append(text) += '\n';
      at_top = force = false;
    }
    if (kind != Kind::Close) separate(out, line, at_top, force);
  }

  void finish(std::string& out) { before(out, Kind::Close, static_cast<std::uint32_t>(-1), 0, out.empty(), false); }

 private:
  void separate(std::string& out, std::uint32_t line, bool at_top, bool force) const {
    const bool was_blank = line > 1 && line - 1 < blank_.size() && blank_[line - 1];
    if (!at_top && (was_blank || force)) out += '\n';
  }

  std::string_view source_;
  const std::vector<Comment>& comments_;
  std::vector<bool> blank_;
  std::size_t next_ = 0;
};

}  // namespace

Result<std::string> format_source(std::string_view source, std::string_view file, StringTable& strings) {
  SourceNotes notes;
  auto m = parse_module(strings, source, file, notes);
  if (!m) return std::move(m).error();
  Comments comments(source, notes.comments);
  Printer p(*m, strings);
  p.set_hook(&comments, &notes);
  p.module();
  std::string out = p.take();
  comments.finish(out);
  return out;
}

}  // namespace tfvm
