#pragma once
// The printer of modules, and where a formatter hooks in.

#include <string>

#include "bytecode/module.h"
#include "bytecode/text/parse.h"

namespace tfvm {

// Called before each line that the printer makes; `out` is the text so far.
class LineHook {
 public:
  enum class Kind : std::uint8_t { Item, Statement, Close };  // Close: the } of a block
  virtual ~LineHook() = default;
  // `line` of the source; `indent` of what stands in the block; `first` of the block or the text; of an Item: whether
  // a blank line must stand before it.
  virtual void before(std::string& out, Kind kind, std::uint32_t line, int indent, bool first, bool blank) = 0;
};

class Printer {
 public:
  Printer(const Module& m, const StringTable& strings) : m_(m), strings_(strings) {}
  void set_hook(LineHook* hook, const SourceNotes* notes) {
    hook_ = hook;
    notes_ = notes;
  }
  void module();
  void callee(std::uint32_t at) { callee(m_.callees[at]); }
  void type(const TypePattern& t);
  std::string take() { return std::move(out_); }

 private:
  void item(const Item& item);
  bool is_long(const Item& item) const { return item.kind == ItemKind::Func || item.kind == ItemKind::Test; }
  void func(const Template& f);
  void global(const Global& g);
  void extern_op(const Extern& e);
  void attr_params(const std::vector<AttrParam>& list);
  void params(const std::vector<Param>& list);
  void results(bool has, const std::vector<TypePattern>& list);
  void types(std::span<const TypePattern> list);
  void dim(const DimPattern& d);

  void block(std::uint32_t at);  // from { to }
  void statement(const Stmt& s);
  void statement_body(const Stmt& s);
  void control(const Stmt& s);
  void bind_list(const Stmt& s);
  void binds(Range r);
  void leave(const Stmt& s);

  void attrs(Range r);
  void entries(Range r);
  void node(const Node& n);
  void node_list(Range r, bool as_expr);
  void expr(const Node& n, int level);
  void of_value(const Node& n, std::string_view name);
  void callee(const CalleeExpr& c);
  void operands(Range r);
  void operand(const Operand& o);
  void literal(const Literal& l);
  void literal_list(const Literal& l, std::size_t depth, std::uint32_t& element);
  void element(const Element& e);

  Printer& put(std::string_view s) {
    out_ += s;
    return *this;
  }
  Printer& put(StrId id) { return put(strings_[id]); }
  void comma(bool first) {
    if (!first) out_ += ", ";
  }
  void line(LineHook::Kind kind, std::uint32_t source_line, bool first);

  const Module& m_;
  const StringTable& strings_;
  LineHook* hook_ = nullptr;
  const SourceNotes* notes_ = nullptr;
  std::string out_;
  int indent_ = 0;
};

}  // namespace tfvm
