#pragma once
// The one way to make code. `emit` checks operands and attributes against the op's row, makes broadcasting of
// elementwise ops explicit, infers result types and, on functional programs, folds constants (up to 64 elements),
// simplifies by exact algebra and numbers values. Errors are sticky: after the first one every append returns kNoValue
// and seal() returns the error, so rules need no checks of their own.

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/evaluator.h"
#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

struct BuilderOptions {
  const Evaluator* evaluator = nullptr;
  bool simplify = true;  // algebra and value numbering; off for full programs
};

class Builder {
 public:
  Builder(Tables& tables, BuilderOptions options, std::string_view name = {});  // with or without @
  // A pass from `parent`: instructions and values point back into it (set_origin, name_from). An empty `pass` does not
  // show in the function's name.
  Builder(Tables& tables, BuilderOptions options, FunctionId parent, std::string_view pass);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Tables& tables() { return t_; }
  const Tables& tables() const { return t_; }
  const BuilderOptions& options() const { return options_; }

  ValueId param(TypeId type, bool mut = false);
  // Appends one instruction. Gives the first result (kNoValue where the op has none); results are consecutive.
  ValueId emit(Op op, std::span<const ValueId> operands, AttrId attrs);
  ValueId emit(Op op, std::initializer_list<ValueId> operands, std::initializer_list<AttrArg> attrs = {});
  // The instruction `in` of `from`, whose code is sound, on other operands: where they have the types of its own,
  // nothing is checked or inferred again. Gives the first result, as emit does.
  ValueId copy(const Body& from, const Instr& in, std::span<const ValueId> operands);
  // Room for so many more instructions and values than there are.
  void reserve(std::size_t instrs, std::size_t values);
  // All results of an instruction, which simplification may have made of several others.
  std::vector<ValueId> emit_all(Op op, std::span<const ValueId> operands, AttrId attrs);

  // Constants. `like` gives dtype and shape of another value (a splat).
  ValueId constant(ConstId c);
  ValueId scalar(DType dtype, double v);
  ValueId scalar_int(DType dtype, std::int64_t v);
  ValueId splat(TypeId type, double v);
  ValueId splat_like(ValueId like, double v) { return splat(type(like), v); }
  ValueId zeros(TypeId type) { return splat(type, 0.0); }         // packs and tapes too
  InstrId definition(ValueId v) const { return def_[index(v)]; }  // kNone of a parameter
  std::optional<ConstId> const_of(ValueId v) const;               // the value is a constant
  std::optional<ConstId> splat_of(ValueId v) const;  // a scalar constant, seen through full and broadcast_to

  TypeId type(ValueId v) const { return body_.types[index(v)]; }
  DType dtype(ValueId v) const { return t_.types.dtype(type(v)); }
  Dims dims(ValueId v) const { return t_.types.dims(type(v)); }
  std::int64_t rank(ValueId v) const { return t_.types.rank(type(v)); }
  const Body& body() const { return body_; }  // as appended so far

  // Where the next instructions come from, and what values are called.
  void set_origin(InstrId in_parent) { origin_ = in_parent; }
  void set_loc(Loc loc) { loc_ = loc; }
  void set_function_loc(Loc loc) { debug_.loc = loc; }
  void name(ValueId v, StrId text);
  void name_from(ValueId v, ValueId in_parent, std::string_view suffix = {});

  // Reports an error at the present place; the first one stays.
  ValueId fail(Code code, std::string message);
  bool failed() const { return failed_; }
  const Error& error() const { return error_; }

  // Ends the function: drops dead code (asserts and io are roots), interns body and names.
  Result<FunctionId> seal(std::span<const ValueId> results);
  Result<FunctionId> seal(std::initializer_list<ValueId> results) {
    return seal(std::span(results.begin(), results.size()));
  }
  // The body may write and alias: it is appended as it is, without folding, simplification and value numbering.
  // Where its parameters are declared, seal() refuses a write into one that isn't mut; else it marks what is written.
  void set_full(bool declared = false);

 private:
  // Checks and completes: fills operands_ (broadcast), attrs and types_; false after fail().
  bool prepare(Op op, std::span<const ValueId> operands, AttrId& attrs);
  bool check_operands(Op op);
  bool broadcast_operands(Op op);
  bool inferred_before(Op op, AttrId attrs);
  void note_inferred(Op op, AttrId attrs);
  ValueId simplify_or_append(Op op, AttrId attrs);
  std::string describe(Op op, std::span<const ValueId> operands) const;
  ValueId append(Op op, AttrId attrs);
  ValueId fold(Op op, AttrId attrs);
  ValueId zeros_of_items(TypeId pack_or_tape);
  void mark_written();
  void drop_dead(std::span<const std::uint8_t> live, std::span<const ValueId> results);

  Tables& t_;
  BuilderOptions options_;
  std::unique_ptr<BuilderMemory> memory_;
  Body& body_;
  DebugInfo& debug_;
  std::vector<InstrId>& def_;       // per value: the instruction that makes it
  std::vector<ValueId>& operands_;  // scratch of the instruction being appended
  std::vector<TypeId>&types_, &operand_types_;
  // An elementwise op without attributes, on operands of one type, gives one type: by the low bits of the op, what was
  // inferred last.
  struct Inferred {
    TypeId operands, result;
    Op op;
    std::uint16_t count = 0;  // of operands; 0: none yet
  };
  std::array<Inferred, 16> inferred_{};
  std::vector<std::uint64_t>& numbering_;  // hash bits << 32 | instruction + 1; size a power of two; see find_number
  std::uint32_t numbered_ = 0;
  InstrId origin_ = kNone<InstrId>;
  Loc loc_;
  bool failed_ = false, declared_ = false;
  Error error_{Code::Ok, {}};

  std::uint64_t* find_number(Op op, AttrId attrs, std::span<const ValueId> operands);
  void grow_numbering();
  friend ValueId simplify(Builder&, Op, std::span<const ValueId>, AttrId, std::span<const TypeId>);
};

// Neither fails nor acts on the world, callees included.
bool is_pure(const Tables& t, Op op, AttrId attrs);

// Appends the instructions of `f` in place of a call; gives its results.
std::vector<ValueId> inline_body(Builder& b, FunctionId f, std::span<const ValueId> args);

}  // namespace tfvm
