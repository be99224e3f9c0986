#pragma once
// Makes one typed function of a template (or of a test's statement). Blocks are lifted into functions as they are met:
// a Frame is one function being built, its parent the one whose block it is. Methods give false after an error.

#include <functional>
#include <unordered_set>

#include "bytecode/elaborate/pattern.h"
#include "bytecode/elaborate/program.h"
#include "bytecode/elaborate/slots.h"

namespace tfvm {

struct Frame {
  Builder b;
  Frame* parent;
  Slots values;
};

class Elaborator final : public AttrScope {
 public:
  Elaborator(Program& p, const Source& source, Loc item, Bindings& bindings)
      : p_(p), t_(p.tables()), source_(source), m_(source.module), bind_(bindings), loc_(item) {}

  Result<FunctionId> function(const Template& f, std::span<const TypeId> args);
  // The values that the statement uses become parameters, in order of first use.
  // `rebound`: inputs whose new values are the last results.
  Result<FunctionId> statement(const Stmt& s, const Program::LocalTypes& types, std::vector<Local>& inputs,
                               std::vector<StrId>& names, std::vector<Local>& rebound);
  Result<ConstId> global_literal(const Global& g, TypeId type);
  Result<FunctionId> global_call(const Global& g, TypeId type);

  // AttrScope
  std::optional<AttrId> find(StrId name) const override { return bind_.attrs.find(name); }
  std::optional<TypeId> type_of(Local l) const override;
  Result<AttrId> function(std::uint32_t callee) override;

 private:
  using Values = std::vector<ValueId>;
  using Hints = std::span<const std::optional<DType>>;  // of results; may be shorter
  struct Exit {                                         // of a block: what it yields before and behind `;`
    Values first, second;
    Values all() const;
  };
  struct Lifted {
    FunctionId f;
    std::vector<TypeId> results;
    std::size_t first = 0;  // how many of them stand before `;`
  };
  struct LiftedParam {
    Local local;
    StrId name;
    TypeId type;
  };
  struct Mention {
    Local local;
    StrId name;
  };
  using ArgumentHint = std::function<std::optional<DType>(std::span<const TypeId> known, std::size_t k)>;

  // --- body.cpp: statements and blocks
  bool statements(Range stmts, StmtKind end, Hints first, Hints second, Exit& out);
  bool statement(const Stmt& s);
  bool define(const Stmt& s, const Values& results);
  bool expectation(const Stmt& s);
  std::string what(const Stmt& s) const;  // "[add]"
  bool results_fit(const Template& f, const Values& results);
  void set_place(Place p);
  bool fail(Code code, std::string message);
  bool fail(Error e);
  // --- operands.cpp
  bool value(const Operand& o, std::optional<DType> hint, const Stmt* s, ValueId& out);
  bool literal(const Operand& o, std::optional<DType> dtype, std::optional<TypeId> shaped, ValueId& out);
  bool computed(const Operand& o, std::optional<DType> dtype, ValueId& out);
  bool values(Range operands, Hints hints, Values& out);
  bool op_operands(const Stmt& s, Range range, std::span<const OperandSpec> specs, bool result_is_group, Values& out);
  bool arguments(Range range, const ArgumentHint& hint, const Stmt& s, Values& out);
  bool arguments(Callee& callee, Range range, const Stmt& s, Values& out);
  DType look_of(const Operand& o) const;
  std::optional<DType> written_dtype(const Stmt& s, std::size_t k) const;
  static bool is_literal(const Operand& o) { return o.kind == OperandKind::Literal || o.kind == OperandKind::Computed; }
  // --- ops.cpp
  bool op(const Stmt& s);
  bool prim(const Stmt& s, Op op);
  bool core(const Stmt& s, const CoreRow& row);
  bool library(const Stmt& s, const Library::Found& found);
  bool reduce_function(const Stmt& s);
  bool unknown_op(const Stmt& s);
  bool custom(const Stmt& s, const Extern& e);
  bool custom_operands(const Stmt& s, const Extern& e, std::span<const std::size_t> counts);
  bool is_full() const { return f_->b.body().full; }
  bool is_view_op(const Stmt& s);
  bool write(const Stmt& s, Op op);
  bool write_random(const Stmt& s, Op op, const Values& operands);
  bool write_elementwise(const Stmt& s, Op op);
  bool write_result(const Stmt& s, std::string_view base);
  bool broadcast_to_first(const Stmt& s, ValueId x, ValueId& v);
  bool metadata(const Stmt& s, Op op);
  bool core_call(const Stmt& s, const CoreRow& row, const Values& operands, AttrId attrs);
  bool core_view(const Stmt& s, Op op, const Values& operands, AttrId attrs);
  bool attributes(const Stmt& s, const Values& operands, AttrId& out);
  bool named_axis(const Stmt& s, const OpInfo& row, AttrId& attrs);
  // --- call.cpp
  bool callee(const Operand& o, Callee*& out);
  bool call(const Stmt& s);
  bool emit_call(Callee& callee, const Values& args, AttrId policy, Values& out);
  bool instantiate(Callee& callee, std::span<const TypeId> args, FunctionId& out);
  bool callee_error(Error e, const std::string& text, bool library);
  std::vector<TypeId> types(const Values& values) const;
  // --- control.cpp: forms with functions; blocks.cpp: forms with blocks
  bool control(const Stmt& s);
  bool complete(const Stmt& s);
  bool branches(const Stmt& s);
  bool while_functions(const Stmt& s);
  bool scan_function(const Stmt& s);
  bool checkpoint(const Stmt& s);
  bool if_blocks(const Stmt& s);
  bool constant_if(const Stmt& s);
  bool while_blocks(const Stmt& s);
  bool scan_block(const Stmt& s);
  bool binds(Range binds, const Stmt& s, std::size_t first_result, Values& out);
  bool length(const Stmt& s, AttrId& attrs, std::span<const ValueId> xs, std::int64_t& out);
  bool count(AttrId attrs, Key key, std::size_t limit, std::size_t& out);
  TypeId slice_type(TypeId x);
  std::vector<LiftedParam> bound(Range binds, const Values& values, bool slices);
  std::vector<std::optional<DType>> dtypes(const Values& values) const;
  void mentions(const Stmt& s, std::vector<Mention>& out, std::unordered_set<Local>& seen) const;
  std::vector<Mention> captures(std::initializer_list<std::uint32_t> blocks) const;
  Values captured(std::span<const Mention> captures);
  bool lift(std::uint32_t block, std::span<const Mention> captures, std::span<const LiftedParam> params, Hints first,
            Hints second, std::string_view suffix, Lifted& out);
  bool yields_literal(std::uint32_t block) const;
  const Block& block(std::uint32_t k) const { return m_.blocks[k]; }
  Builder& b() { return f_->b; }
  Program& p_;
  Tables& t_;
  const Source& source_;
  const Module& m_;
  Bindings& bind_;
  Loc loc_;
  Frame* f_ = nullptr;
  BuilderOptions core_options_;         // of blocks and parts that are core
  std::vector<Local> rebound_;          // by metadata ops, of the statement of a test
  std::string name_;                    // of the function, without @
  Values last_;                         // results of the last statement
  std::vector<TypeId> function_types_;  // argument types of a function that stands as an attribute
  std::optional<Error> error_;
};

}  // namespace tfvm
