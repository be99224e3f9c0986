// Which params and buffers a function uses, by the text: its own operands and those of all functions it names.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "bytecode/elaborate/program.h"

namespace tfvm {

namespace {

class Uses {
 public:
  Uses(const Module& m) : m_(m) {}

  // A worklist: a chain of calls may be longer than the stack is deep.
  void run(const Template& f) {
    function(f);
    while (!pending_.empty()) {
      const Template& next = *pending_.back();
      pending_.pop_back();
      entries(next.attrs);
      block(next.block);
    }
  }
  std::map<std::uint32_t, bool> found;  // globals, by declaration

 private:
  void function(const Template& f) {
    if (seen_.insert(&f).second) pending_.push_back(&f);
  }

  void block(std::uint32_t k) {
    if (k == kNoIndex) return;
    for (const Stmt& s : Module::at(m_.stmts, m_.blocks[k].stmts)) {
      for (const Operand& o : Module::at(m_.operands, s.operands)) operand(o);
      for (const Operand& o : Module::at(m_.operands, s.args)) operand(o);
      entries(s.attrs);
      if (const auto op = s.kind == StmtKind::Op ? m_.op_names.find(s.op) : m_.op_names.end(); op != m_.op_names.end())
        if (seen_.insert(&m_.externs[op->second.at]).second) entries(m_.externs[op->second.at].attrs);
      if (s.control == kNoIndex) continue;
      const Control& c = m_.controls[s.control];
      for (Range binds : {c.carries, c.inputs})
        for (const Bind& b : Module::at(m_.binds, binds)) operand(m_.operands[b.operand]);
      for (std::uint32_t inner : c.blocks) block(inner);
    }
  }

  void operand(const Operand& o) {
    if (o.kind == OperandKind::Callee) callee(o.at);
    if (o.kind == OperandKind::CalleeList)
      for (std::uint32_t k = 0; k < o.count; ++k) callee(o.at + k);
  }

  void callee(std::uint32_t k) {
    for (;;) {
      for (; m_.callees[k].is_transform(); k = m_.callees[k].inner) entries(m_.callees[k].attrs);
      const Item* item = m_.find(m_.callees[k].name);
      if (item && item->kind == ItemKind::Global) found[item->at] = true;
      if (item && item->kind == ItemKind::Func) function(m_.funcs[item->at]);
      if (!item || item->kind != ItemKind::Derived || !seen_.insert(&m_.derived[item->at]).second) return;
      k = m_.derived[item->at].callee;
    }
  }

  void entries(Range entries) {
    for (const Entry& e : Module::at(m_.entries, entries)) node(m_.nodes[e.node]);
  }

  void node(const Node& n) {
    if (n.kind == NodeKind::Func) callee(n.at);
    if (n.kind == NodeKind::List || n.kind == NodeKind::Call)
      for (const Node& item : Module::at(m_.nodes, n.items)) node(item);
  }

  const Module& m_;
  std::vector<const Template*> pending_;
  std::unordered_set<const void*> seen_;
};

}  // namespace

const std::vector<GlobalUse>& Program::globals_of(const Source& source, const Template& f) {
  if (const auto it = globals_of_.find(&f); it != globals_of_.end()) return it->second;
  std::vector<GlobalUse> found;
  if (!source.module.globals.empty()) {
    Uses uses(source.module);
    uses.run(f);
    for (const auto& [at, used] : uses.found) found.push_back(global(source, at));
  }
  return globals_of_.emplace(&f, std::move(found)).first->second;
}

}  // namespace tfvm
