// One module behind another: pools are appended, and every index into a pool moves by what stood there before.
#include "bytecode/module.h"

namespace tfvm {

namespace {

class Merger {
 public:
  Merger(Module& into, const Module& from) : a_(into), b_(from) {}

  void pools() {
    append(a_.nodes, b_.nodes, [&](Node& n) {
      move(n.items, nodes_);
      if (n.kind == NodeKind::Func) move(n.at, callees_);
    });
    append(a_.entries, b_.entries, [&](Entry& e) { e.node += nodes_; });
    append(a_.callees, b_.callees, [&](CalleeExpr& c) {
      move(c.inner, callees_);
      move(c.attrs, entries_);
    });
    append(a_.literals, b_.literals, [&](Literal& l) {
      move(l.dims, literal_dims_);
      move(l.elements, elements_);
    });
    append(a_.literal_dims, b_.literal_dims, [](std::int64_t&) {});
    append(a_.elements, b_.elements, [&](Element& e) { e.begin += texts_; });
    a_.texts += b_.texts;
    append(a_.operands, b_.operands, [&](Operand& o) { operand(o); });
    append(a_.dims, b_.dims, [](DimPattern&) {});
    append(a_.types, b_.types, [&](TypePattern& t) { move(t.dims, dims_); });
    append(a_.result_names, b_.result_names, [](StrId&) {});
    append(a_.binds, b_.binds, [&](Bind& bind) { bind.operand += operands_; });
    append(a_.blocks, b_.blocks, [&](Block& block) { move(block.stmts, stmts_); });
    append(a_.controls, b_.controls, [&](Control& c) {
      move(c.carries, binds_);
      move(c.inputs, binds_);
      for (std::uint32_t& block : c.blocks) move(block, blocks_);
      move(c.inner, stmts_);
    });
    append(a_.stmts, b_.stmts, [&](Stmt& s) {
      move(s.results, result_names_);
      move(s.operands, operands_);
      move(s.args, operands_);
      move(s.attrs, entries_);
      move(s.types, types_);
      move(s.control, controls_);
    });
  }

  Template moved(Template f) const {
    for (AttrParam& p : f.attr_params) move(p.default_node, nodes_);
    for (Param& p : f.params) move(p.type.dims, dims_);
    for (TypePattern& t : f.results) move(t.dims, dims_);
    move(f.attrs, entries_);
    move(f.block, blocks_);
    return f;
  }
  Derived moved(Derived d) const {
    move(d.callee, callees_);
    return d;
  }
  Global moved(Global g) const {
    move(g.type.dims, dims_);
    move(g.literal, literals_);
    move(g.callee, callees_);
    move(g.args, operands_);
    return g;
  }
  Extern moved(Extern e) const {
    for (Param& p : e.params) move(p.type.dims, dims_);
    for (TypePattern& t : e.results) move(t.dims, dims_);
    move(e.attrs, entries_);
    return e;
  }
  Test moved(Test t) const {
    move(t.attrs, entries_);
    move(t.block, blocks_);
    return t;
  }

 private:
  template <class T>
  static std::uint32_t size(const std::vector<T>& pool) {
    return static_cast<std::uint32_t>(pool.size());
  }
  template <class T, class F>
  static void append(std::vector<T>& into, const std::vector<T>& from, const F& change) {
    const std::size_t before = into.size();
    into.insert(into.end(), from.begin(), from.end());
    for (std::size_t k = before; k < into.size(); ++k) change(into[k]);
  }
  static void move(std::uint32_t& at, std::uint32_t by) {
    if (at != kNoIndex) at += by;
  }
  static void move(Range& r, std::uint32_t by) { r.begin += by; }
  void operand(Operand& o) const {
    if (o.kind == OperandKind::Callee || o.kind == OperandKind::CalleeList) move(o.at, callees_);
    if (o.kind == OperandKind::Literal) move(o.at, literals_);
    if (o.kind == OperandKind::Computed) move(o.at, nodes_);
  }

  Module& a_;
  const Module& b_;
  const std::uint32_t nodes_ = size(a_.nodes), entries_ = size(a_.entries), callees_ = size(a_.callees),
                      literals_ = size(a_.literals), literal_dims_ = size(a_.literal_dims),
                      elements_ = size(a_.elements), texts_ = static_cast<std::uint32_t>(a_.texts.size()),
                      operands_ = size(a_.operands), dims_ = size(a_.dims), types_ = size(a_.types),
                      result_names_ = size(a_.result_names), binds_ = size(a_.binds), blocks_ = size(a_.blocks),
                      controls_ = size(a_.controls), stmts_ = size(a_.stmts);
};

template <class Items, class T>
std::uint32_t push(Items& items, T item) {
  items.push_back(std::move(item));
  return static_cast<std::uint32_t>(items.size() - 1);
}

}  // namespace

Status merge(Module& into, const Module& from, const StringTable& strings) {
  Merger merger(into, from);
  merger.pools();
  for (Item item : from.items) {
    switch (item.kind) {
      case ItemKind::Import:
        continue;
      case ItemKind::Func:
        item.at = push(into.funcs, merger.moved(from.funcs[item.at]));
        break;
      case ItemKind::Derived:
        item.at = push(into.derived, merger.moved(from.derived[item.at]));
        break;
      case ItemKind::Global:
        item.at = push(into.globals, merger.moved(from.globals[item.at]));
        break;
      case ItemKind::Extern:
        item.at = push(into.externs, merger.moved(from.externs[item.at]));
        break;
      case ItemKind::Test:
        item.at = push(into.tests, merger.moved(from.tests[item.at]));
        break;
    }
    if (Status s = add_item(into, item, strings); !s) return s;
  }
  return ok();
}

}  // namespace tfvm
