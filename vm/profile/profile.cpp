#include "vm/profile/profile.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace tfvm {

namespace {

class All : public CodeListener {
 public:
  explicit All(std::vector<std::unique_ptr<CodeListener>> all) : all_(std::move(all)) {}
  void added(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes& notes) override {
    for (const auto& one : all_) one->added(label, code, notes);
  }
  void removed(const std::byte* code) override {
    for (const auto& one : all_) one->removed(code);
  }

 private:
  std::vector<std::unique_ptr<CodeListener>> all_;
};

std::unique_ptr<CodeListener> listener_of(std::string_view name) {
  if (name == "map") return perf_map();
  if (name == "gdb") return gdb_interface();
  if (name != "jitdump") return nullptr;
  const char* folder = std::getenv("JITDUMPDIR");  // as other runtimes take it
  return jitdump(folder && *folder ? folder : "/tmp");
}

}  // namespace

std::string symbol_of(const CodeLabel& label) {
  std::string s = "tfvm:" + label.name;
  if (label.line > 0) s += " (" + label.file + ":" + std::to_string(label.line) + ")";
  for (char& c : s)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // a line is a line
  return s;
}

std::vector<LineRow> line_rows(const CodeLabel& label, const CodeNotes& notes) {
  std::vector<LineRow> rows;
  if (label.line == 0) return rows;
  rows.push_back({0, label.line, &label.file});
  for (const CodeMark& m : notes.marks) {
    LineRow row{m.offset, label.line, &label.file};
    if (m.source < label.lines.size() && label.lines[m.source].line > 0)
      row = {m.offset, label.lines[m.source].line, &label.lines[m.source].file};
    if (row.line == rows.back().line && *row.file == *rows.back().file) continue;
    if (rows.back().offset == m.offset) rows.pop_back();
    rows.push_back(row);
  }
  return rows;
}

std::shared_ptr<CodeListener> code_listener(std::string_view names) {
  std::vector<std::unique_ptr<CodeListener>> all;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (auto one = listener_of(names.substr(0, end))) all.push_back(std::move(one));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  if (all.empty()) return nullptr;
  return std::make_shared<All>(std::move(all));
}

}  // namespace tfvm
