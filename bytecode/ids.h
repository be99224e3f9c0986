#pragma once
// Typed ids of the hash-consed tables and of values within a function. 4 bytes each, never mixed.

#include <cstdint>
#include <functional>

namespace tfvm {

enum class ValueId : std::uint32_t {};     // a value of one body: parameters first, then results in order
enum class InstrId : std::uint32_t {};     // an instruction of one body
enum class StrId : std::uint32_t {};       // StringTable
enum class TypeId : std::uint32_t {};      // TypeTable
enum class AttrId : std::uint32_t {};      // AttrTable
enum class ConstId : std::uint32_t {};     // ConstTable
enum class BodyId : std::uint32_t {};      // BodyTable: hash-consed code, no names, no lines
enum class DebugId : std::uint32_t {};     // DebugTable: names and lines of one function
enum class TemplateId : std::uint32_t {};  // a function as written, in one Module

inline constexpr std::uint32_t kNoIndex = 0xffffffffu;

template <class Id>
constexpr std::uint32_t index(Id id) {
  return static_cast<std::uint32_t>(id);
}

template <class Id>
inline constexpr Id kNone = static_cast<Id>(kNoIndex);

inline constexpr ValueId kNoValue = kNone<ValueId>;  // absent operand; a symbolic zero tangent; a poisoned append

// A function: its code, and the names and lines that go with it. Two functions are equal where their bodies are.
struct FunctionId {
  BodyId body = kNone<BodyId>;
  DebugId debug = kNone<DebugId>;
  friend bool operator==(const FunctionId&, const FunctionId&) = default;
  explicit operator bool() const { return body != kNone<BodyId>; }
};

static_assert(sizeof(ValueId) == 4 && sizeof(FunctionId) == 8);

// A place in a source text; line and col count from 1, line 0 = nowhere. `file` is interned.
struct Loc {
  StrId file = kNone<StrId>;
  std::uint32_t line = 0;
  std::uint32_t col = 0;
  friend bool operator==(const Loc&, const Loc&) = default;
};

}  // namespace tfvm

template <>
struct std::hash<tfvm::FunctionId> {
  std::size_t operator()(const tfvm::FunctionId& f) const noexcept {
    return (static_cast<std::size_t>(index(f.body)) << 32 | index(f.debug)) * 0x9e3779b97f4a7c15ull;
  }
};
