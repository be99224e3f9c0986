#include <fmt/format.h>

#include "vm/plan/plan.h"

namespace tfvm {

namespace {

class Dump {
 public:
  explicit Dump(const Plan& p) : p_(p) {}

  std::string run() {
    out_ = fmt::format("frame {} bytes, constants {} bytes, depth {}\n", p_.frame_bytes, p_.pool ? p_.pool->bytes() : 0,
                       p_.depth);
    for (std::size_t i = 0; i < p_.steps.size(); ++i) {
      out_ += fmt::format("{:4} ", i);
      step(p_.steps[i]);
      out_ += '\n';
    }
    for (const ResultCopy& c : p_.result_copies) out_ += fmt::format("     r{} = p{}\n", c.result, c.param);
    return std::move(out_);
  }

 private:
  std::string place(const Address& x) const {
    std::string root;
    if (x.root == kFrameRoot) root = "f";
    if (x.root == kPoolRoot) root = "c";
    if (x.root >= kFirstParam) root = fmt::format("p{}", x.root - kFirstParam);
    if (x.root >= p_.first_result()) root = fmt::format("r{}", x.root - p_.first_result());
    return x.offset || x.root < kFirstParam ? fmt::format("{}+{}", root, x.offset) : root;
  }
  std::string list(Addresses l) const {
    std::string s;
    for (std::uint32_t k = 0; k < l.count; ++k) s += (k ? ", " : "") + place(p_.places[l.begin + k]);
    return s;
  }
  void carries(const std::vector<LoopCarry>& list) {
    constexpr std::string_view kKinds[] = {"alternate", "kept", "in place"};
    for (const LoopCarry& c : list)
      out_ += fmt::format("; {} -> {} {}", place(c.init), place(c.result), kKinds[static_cast<std::size_t>(c.kind)]);
  }
  void step(const PlanStep& s) {
    switch (s.kind) {
      case StepKind::Nest:
        out_ += "nest " + list(p_.nests[s.index].bases);
        return;
      case StepKind::Kernel:
        out_ += p_.kernels[s.index].is_check ? "check " : "";
        out_ += fmt::format("{} {}{}", name(p_.kernels[s.index].op), list(p_.kernels[s.index].places),
                            p_.kernels[s.index].has_epilogue ? "; each block, then the next step" : "");
        return;
      case StepKind::Call: {
        const CallStep& c = p_.calls[s.index];
        out_ += c.targets.size() == 1 ? std::string("call")
                                      : fmt::format("choose by {} of {}", place(c.selector), c.targets.size());
        out_ += fmt::format(" ({}) -> {}; frame {}", list(c.args), list(c.results), place(c.frame));
        return;
      }
      case StepKind::While: {
        const WhileStep& w = p_.whiles[s.index];
        out_ += fmt::format("while ({}; {})", list(w.cond_consts), list(w.body_consts));
        carries(w.carries);
        for (const TapeRow& r : w.tapes) out_ += fmt::format("; tape {}", place(r.place));
        if (w.native.code) out_ += "; native";
        return;
      }
      case StepKind::TapeScan: {
        const TapeScanStep& x = p_.tape_scans[s.index];
        out_ += fmt::format("tape_scan {}{} ({})", place(x.trips), x.reverse ? " reverse" : "", list(x.consts));
        carries(x.carries);
        for (const TapeRow& r : x.inputs) out_ += fmt::format("; in {}", place(r.place));
        for (const TapeRow& r : x.outputs) out_ += fmt::format("; out {}", place(r.place));
        if (x.native.code) out_ += "; native";
        return;
      }
      case StepKind::Scan: {
        const ScanStep& x = p_.scans[s.index];
        out_ += fmt::format("scan {}{} ({})", x.length, x.reverse ? " reverse" : "", list(x.consts));
        carries(x.carries);
        for (const ScanRow& r : x.inputs) out_ += fmt::format("; in {} by {}", place(r.place), r.stride);
        for (const ScanRow& r : x.outputs) out_ += fmt::format("; out {} by {}", place(r.place), r.stride);
        if (x.native.code) out_ += "; native";
        return;
      }
      case StepKind::Reduce:
        out_ += "reduce";
        for (const auto& o : p_.reduces[s.index].operands)
          out_ += fmt::format(" {} from {} -> {};", place(o.x), place(o.init), place(o.result));
        return;
      case StepKind::Assert:
        out_ += fmt::format("assert {} \"{}\"", place(p_.asserts[s.index].predicate), p_.asserts[s.index].message);
        return;
      case StepKind::Print:
        out_ += fmt::format("print {} \"{}\"", place(p_.prints[s.index].value), p_.prints[s.index].label);
        return;
    }
  }

  const Plan& p_;
  std::string out_;
};

}  // namespace

std::string text(const Plan& plan) { return Dump(plan).run(); }

}  // namespace tfvm
