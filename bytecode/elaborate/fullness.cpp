// Which functions are full (language.md, section 5), by the text: those with a mut parameter, an op that writes or that
// addresses storage, or a call of a full function in any form. What a transform makes of a full function is full where
// it has something to write back: a mut parameter, a param or a buffer; functionalize and functional_call give core.
#include <algorithm>
#include <unordered_set>

#include "bytecode/aliasing.h"
#include "bytecode/elaborate/program.h"

namespace tfvm {

namespace {

class Fullness {
 public:
  Fullness(Program& p, const Source& source) : p_(p), source_(source), m_(source.module) {}

  // A worklist: a chain of calls may be longer than the stack is deep. What is found core on the way is core itself.
  bool function(const Template& f, std::unordered_map<const Template*, bool>& known) {
    push(f);
    while (!pending_.empty()) {
      const Template& next = *pending_.back();
      pending_.pop_back();
      if (const auto it = known.find(&next); it != known.end()) {
        if (it->second) return true;
        continue;
      }
      if (std::ranges::any_of(next.params, &Param::mut) || block(next.block)) return true;
    }
    for (const Template* core : seen_) known.emplace(core, false);
    return false;
  }

  // False where only what has been pushed may still write.
  bool statement(const Stmt& s) {
    if (s.kind == StmtKind::Op && writes(s.op)) return true;
    for (Range operands : {s.operands, s.args})
      for (const Operand& o : Module::at(m_.operands, operands)) operand(o);
    if (s.control == kNoIndex) return false;
    const Control& c = m_.controls[s.control];
    if (s.kind == StmtKind::ExpectError && c.inner != kNoIndex) return statement(m_.stmts[c.inner]);
    return std::ranges::any_of(c.blocks, [this](std::uint32_t k) { return block(k); });
  }

  bool block(std::uint32_t k) {
    return k != kNoIndex && std::ranges::any_of(Module::at(m_.stmts, m_.blocks[k].stmts),
                                                [this](const Stmt& s) { return statement(s); });
  }

  const std::vector<const Template*>& pending() const { return pending_; }

 private:
  void push(const Template& f) {
    if (seen_.insert(&f).second) pending_.push_back(&f);
  }

  bool writes(StrId name) {
    const Tables& t = p_.tables();
    if (const auto it = m_.op_names.find(name); it != m_.op_names.end())
      return std::ranges::any_of(m_.externs[it->second.at].params, &Param::mut);
    const Program::OpRef& op = p_.find_op(name);
    if (op.prim) return needs_full(*op.prim);
    const std::string_view base = written_op(t.strings[name]);
    return !op.known() && !base.empty() && p_.find_op(p_.tables().strings.intern(base)).known();
  }

  void operand(const Operand& o) {
    if (o.kind != OperandKind::Callee && o.kind != OperandKind::CalleeList) return;
    for (std::uint32_t k = 0; k < (o.kind == OperandKind::Callee ? 1 : o.count); ++k) callee(o.at + k);
  }

  void callee(std::uint32_t k) {
    bool transformed = false;
    for (std::unordered_set<std::uint32_t> derived;;) {
      for (; m_.callees[k].is_transform(); k = m_.callees[k].inner) {
        const std::string_view name = p_.tables().strings[m_.callees[k].name];
        if (name == "functionalize" || name == "functional_call") return;
        transformed = transformed || name != "checkpoint";
      }
      const Item* item = m_.find(m_.callees[k].name);
      if (item && item->kind == ItemKind::Func) {
        const Template& f = m_.funcs[item->at];
        const bool leaks =
            !transformed || std::ranges::any_of(f.params, &Param::mut) || !p_.globals_of(source_, f).empty();
        if (leaks) push(f);
        return;
      }
      if (!item || item->kind != ItemKind::Derived || !derived.insert(item->at).second) return;
      k = m_.derived[item->at].callee;
    }
  }

  Program& p_;
  const Source& source_;
  const Module& m_;
  std::vector<const Template*> pending_;
  std::unordered_set<const Template*> seen_;
};

}  // namespace

bool Program::is_full(const Source& source, const Template& f) {
  if (source.space != Space::User) return false;
  const auto it = full_.find(&f);
  if (it != full_.end()) return it->second;
  const bool full = Fullness(*this, source).function(f, full_);
  full_[&f] = full;
  return full;
}

bool Program::is_full(const Source& source, const Stmt& s) {
  if (source.space != Space::User) return false;
  Fullness search(*this, source);
  return search.statement(s) ||
         std::ranges::any_of(search.pending(), [&](const Template* f) { return is_full(source, *f); });
}

bool Program::is_full_block(const Source& source, std::uint32_t block) {
  if (source.space != Space::User) return false;
  Fullness search(*this, source);
  return search.block(block) ||
         std::ranges::any_of(search.pending(), [&](const Template* f) { return is_full(source, *f); });
}

}  // namespace tfvm
