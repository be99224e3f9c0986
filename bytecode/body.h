#pragma once
// A body: the code of one typed function as a struct of arrays. Immutable once it is in the BodyTable. Values are
// numbered: parameters first, then the results of each instruction in order. No names, no lines.

#include <span>
#include <vector>

#include "bytecode/attrs.h"
#include "bytecode/id_array.h"
#include "bytecode/id_map.h"
#include "bytecode/ids.h"
#include "bytecode/ops/op.h"
#include "bytecode/types.h"

namespace tfvm {

struct Instr {
  Op op;
  AttrId attrs;                       // a Dict in the order of the row; of Op::constant: a Const
  std::span<const ValueId> operands;  // valid as long as the body
  ValueId first_result;
  std::uint32_t num_results;
  ValueId result(std::uint32_t k = 0) const { return static_cast<ValueId>(index(first_result) + k); }
};

struct Body {
  std::vector<TypeId> types;  // one per value
  std::uint32_t num_params = 0;
  std::vector<Op> ops;  // one per instruction …
  std::vector<AttrId> attrs;
  std::vector<std::uint32_t> operand_begin;  // … and one more: spans into `operands`
  std::vector<std::uint32_t> result_begin;   // … and one more: value ids
  std::vector<ValueId> operands;
  std::vector<ValueId> results;          // what the function returns
  std::vector<std::uint8_t> mut_params;  // empty, or one flag per parameter
  bool full = false;                     // may write or alias (language.md, section 5)
  bool effects = false;                  // asserts, io or writes here or in a callee; set by the Builder

  std::uint32_t num_instrs() const { return static_cast<std::uint32_t>(ops.size()); }
  std::uint32_t num_values() const { return static_cast<std::uint32_t>(types.size()); }
  Instr instr(InstrId id) const;
  Instr instr(std::uint32_t i) const { return instr(static_cast<InstrId>(i)); }
  TypeId type(ValueId v) const { return types[index(v)]; }
  std::span<const TypeId> param_types() const { return {types.data(), num_params}; }
  std::vector<TypeId> result_types() const;
  ValueId param(std::uint32_t k) const { return static_cast<ValueId>(k); }
};

// The instruction that defines each value (kNone for parameters): an array indexed by value.
std::vector<InstrId> definitions(const Body& body);

class BodyTable {
 public:
  BodyId intern(const Body& body);
  BodyId intern(Body&& body);
  const Body& operator[](BodyId id) const { return bodies_[index(id)]; }
  bool has(BodyId id) const { return bodies_.has(index(id)); }
  std::size_t size() const { return bodies_.size(); }  // above the last id
  // See IdArray; bytes since the last `keep`, about.
  void keep();
  void forget();
  std::int64_t fresh_bytes() const { return fresh_bytes_; }

 private:
  BodyId find(std::uint64_t hash, const Body& body) const;  // kNone: not there
  BodyId add(std::uint64_t hash, Body body);

  IdArray<Body, 7> bodies_;
  std::int64_t fresh_bytes_ = 0;
  IdMap<BodyId> ids_;
};

// What a value is called: the name written for it, or the name of `origin` in the parent plus a suffix ('t' tangent,
// 'ct' cotangent, 'b' batched …).
struct ValueName {
  StrId text = kNone<StrId>;
  ValueId origin = kNoValue;
};

struct DebugInfo {
  StrId name = kNone<StrId>;        // of the function, without @
  DebugId parent = kNone<DebugId>;  // the function that a pass made this one from
  StrId pass = kNone<StrId>;        // "jvp", "vmap", …: the pass
  Loc loc;                          // of the function as written
  std::vector<InstrId> origin;      // per instruction: its origin in parent, or kNone
  std::vector<Loc> locs;            // per instruction, where the function was built from text; else empty
  std::vector<ValueName> values;    // per value; may be shorter
};

class DebugTable {
 public:
  DebugId add(DebugInfo info);
  const DebugInfo& operator[](DebugId id) const { return infos_[index(id)]; }
  // The user's line of an instruction: walks origins. loc.line == 0 where none is known.
  Loc find_loc(DebugId debug, InstrId instr) const;
  // "%d.t" for the tangent of %d; empty where no name is known.
  std::string value_name(DebugId debug, ValueId v, const StringTable& strings) const;
  // "vmap(grad(@loss))": the name of the function with the passes that led to it.
  std::string function_name(DebugId debug, const StringTable& strings) const;

  bool has(DebugId id) const { return infos_.has(index(id)); }
  // See IdArray; bytes since the last `keep`, about.
  void keep();
  void forget();
  std::int64_t fresh_bytes() const { return fresh_bytes_; }

 private:
  IdArray<DebugInfo, 7> infos_;
  std::int64_t fresh_bytes_ = 0;
};

}  // namespace tfvm
