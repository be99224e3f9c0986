#include "vm/plan/code_text.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "vm/plan/sources.h"
#include "vm/plan/unroll.h"

namespace tfvm {

namespace {

std::string line_of(const Tables& t, StepOrigin at) {
  const Loc loc = t.debugs.find_loc(at.debug, at.instr);
  return loc.line ? fmt::format("{}:{}", t.strings[loc.file], loc.line) : "no line";
}

struct Text {
  const Tables& t;
  NestCompiler& compiler;
  const LineText& line_text;

  // Marks become lines of the program.
  std::string with_lines(std::string_view code, const std::vector<CodeLine>& lines) const {
    constexpr std::string_view kMark = "; source ";
    std::string out;
    const CodeLine none;
    const CodeLine* last = nullptr;
    while (!code.empty()) {
      const std::size_t size = std::min(code.find('\n'), code.size() - 1) + 1;
      const std::string_view line = code.substr(0, size);
      code.remove_prefix(size);
      if (!line.starts_with(kMark)) {
        out += line;
        continue;
      }
      const std::size_t source = std::strtoul(line.data() + kMark.size(), nullptr, 10);
      const CodeLine& now = source < lines.size() ? lines[source] : none;
      if (!last || now != *last) add_title(out, now);
      last = &now;
    }
    return out;
  }

  void add_title(std::string& out, const CodeLine& line) const {
    if (line.line == 0) {
      out += "// loops and addresses\n";
      return;
    }
    out += fmt::format("// {}:{}", line.file, line.line);
    if (line_text) out += ": " + line_text(line);
    out += '\n';
  }

  void add(StepText& s, const auto& ir, const Nest& nest, std::span<const StepOrigin> sources) const {
    const Result<std::string> code = compiler.listing(ir);
    s.ir = text(ir);
    s.code =
        code ? with_lines(*code, lines_of(t, sources, nest)) : fmt::format("interpreted: {}\n", code.error().message);
  }

  void add_loop(StepText& s, const NativeLoop& native, std::span<const StepOrigin> sources,
                std::string_view why) const {
    s.title += ", a loop\n";
    if (native.ir) return add(s, *native.ir, native.ir->body, sources);
    s.code = fmt::format("trip by trip: {}\n", why);
  }
};

// Why a loop runs trip by trip.
std::string why_none(const Plan& body, const NativeLoop& native, std::string_view other) {
  if (native.ir) return {};
  if (!body.not_one_nest.empty()) return body.not_one_nest;
  return std::string(body.as_nest ? other : "no machine code is asked for");
}

std::string why_none(const ScanStep& s) {
  return why_none(*s.body, s.native, s.length < 1 ? "it makes no trip" : "it has more arrays than code takes");
}

std::string why_none(const WhileStep& s) {
  return why_none(*s.body, s.native,
                  "its condition is neither one bool for all lanes nor whether any element of a carry is set, which "
                  "then changes no other lane, and writes no tape and has no index that may be outside");
}

}  // namespace

StepText code_text(const Tables& t, const Plan& p, std::uint32_t step, NestCompiler& compiler,
                   const LineText& line_text) {
  StepText s;
  const Text make{t, compiler, line_text};
  const PlanStep& at = p.steps[step];
  s.title = fmt::format("// step {}, {}", step, line_of(t, p.origins[step]));
  if (at.kind == StepKind::Nest && p.nests[at.index].ir) {
    s.title += '\n';
    const Nest& nest = *p.nests[at.index].ir;
    make.add(s, nest, nest, p.sources);
  } else if (at.kind == StepKind::Scan) {
    const ScanStep& x = p.scans[at.index];
    make.add_loop(s, x.native, x.body->sources, why_none(x));
  } else if (at.kind == StepKind::While) {
    const WhileStep& x = p.whiles[at.index];
    make.add_loop(s, x.native, sources_of(x), why_none(x));
  } else if (at.kind == StepKind::TapeScan) {
    const TapeScanStep& x = p.tape_scans[at.index];
    make.add_loop(s, x.native, x.body->sources,
                  why_none(*x.body, x.native, "it has more arrays than code takes, or an index that may be outside"));
  } else {
    s.title.clear();
  }
  return s;
}

std::string text(const LoopNest& loop) {
  const Nest& n = loop.body;
  const bool is_while = loop.condition != kNoNode;
  std::string s = is_while ? "loop over " : fmt::format("loop of {} trips over ", loop.trips);
  s += text(n);
  for (std::size_t k = 0; k < n.nodes.size(); ++k)
    if (n.nodes[k].kind == NestNodeKind::Load && loop.strides[n.nodes[k].access] != 0)
      s += fmt::format("in each trip n{} moves by {}\n", k, loop.strides[n.nodes[k].access]);
  for (std::size_t k = 0; k < n.stores.size(); ++k)
    s += fmt::format("in each trip the store of n{} moves by {}\n", n.stores[k].node, loop.store_strides[k]);
  for (const LoopValue& c : loop.carries) {
    const auto reads = [&](const NestNode& x) { return x.kind == NestNodeKind::Load && x.access == c.access; };
    s += fmt::format("carry n{}: next n{}, last -> {}\n", std::ranges::find_if(n.nodes, reads) - n.nodes.begin(),
                     c.next, text(c.last));
  }
  if (is_while) s += fmt::format("while n{}\n", loop.condition);
  return s;
}

std::string why_not_one_nest(const FlatBody& flat, const Lowered& low) {
  for (std::size_t k = 0; k < low.items.size(); ++k) {
    const ItemSource& s = low.sources[k];
    if (low.items[k].nest || s.instr >= flat.body.num_instrs()) continue;
    const Op op = flat.body.instr(s.instr).op;
    if (is_unrolled(op)) continue;
    return fmt::format("its body has a step that is no nest: {}", name(op));
  }
  return fmt::format(
      "its body is no nest over lanes of at most {} values: there are more, or lanes mix, or it reads a carry other "
      "than it writes it, or looks up in one",
      kMaxUnrolled);
}

}  // namespace tfvm
