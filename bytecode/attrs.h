#pragma once
// Hash-consed attribute values. An instruction's attributes are one Dict whose keys stand in the order of the op's row;
// lists of integers are always Ints. Spans handed out stay valid as long as the value.

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "bytecode/dtype.h"
#include "bytecode/id_array.h"
#include "bytecode/id_map.h"
#include "bytecode/ids.h"
#include "bytecode/strings.h"

namespace tfvm {

using Ints = std::span<const std::int64_t>;

enum class AttrKind : std::uint8_t { None, Bool, Int, Float, Str, DType, Ints, List, Func, Call, Dict, Const };

struct Attr {
  AttrKind kind = AttrKind::None;
  std::int64_t i = 0;                 // Bool, Int; Float: the bits of the double; DType
  StrId str = kNone<StrId>;           // Str; Call: its name
  FunctionId func;                    // Func
  ConstId constant = kNone<ConstId>;  // Const
  Ints ints;                          // Ints
  std::span<const Key> keys;          // Dict, beside items
  std::span<const AttrId> items;      // List, Dict, Call
  double f() const;
  DType dtype() const { return static_cast<DType>(i); }
};

struct AttrArg;  // below: one KEY = value, in C++

class AttrTable {
 public:
  explicit AttrTable(StringTable& strings);
  AttrId none() const { return AttrId{0}; }
  AttrId empty() const { return AttrId{1}; }  // the Dict without keys
  AttrId of(bool b);
  AttrId of(std::int64_t i);
  AttrId of(double f);
  AttrId of(std::string_view s);
  AttrId of(const char* s) { return of(std::string_view(s)); }  // else it would be a bool
  AttrId of(DType d);
  AttrId of(FunctionId f);
  AttrId of(ConstId c);
  AttrId ints(Ints v);
  AttrId list(std::span<const AttrId> items);  // Ints where every item is an Int
  AttrId call(StrId name, std::span<const AttrId> items);
  AttrId dict(std::span<const Key> keys, std::span<const AttrId> items);
  AttrId dict(std::initializer_list<AttrArg> args);
  AttrId with(AttrId dict, Key key, AttrId value);  // the same Dict with one entry set

  const Attr& operator[](AttrId id) const { return attrs_[index(id)]; }
  // Entries of a Dict. `get` gives none() where the key is absent; the typed forms need the right kind to be there.
  AttrId get(AttrId dict, Key key) const;
  bool has(AttrId dict, Key key) const { return get(dict, key) != none(); }
  std::int64_t get_int(AttrId dict, Key key) const { return (*this)[get(dict, key)].i; }
  bool get_bool(AttrId dict, Key key) const { return (*this)[get(dict, key)].i != 0; }
  Ints get_ints(AttrId dict, Key key) const { return (*this)[get(dict, key)].ints; }
  std::string_view get_str(AttrId dict, Key key) const;
  DType get_dtype(AttrId dict, Key key) const { return (*this)[get(dict, key)].dtype(); }
  FunctionId get_func(AttrId dict, Key key) const { return (*this)[get(dict, key)].func; }
  // Items of a List of lists of integers, e.g. batch=[[0],[1]].
  Ints get_ints_at(AttrId dict, Key key, std::size_t k) const;
  StringTable& strings() const { return strings_; }

  // See IdArray; bytes since the last `keep`, about.
  void keep();
  void forget();
  std::int64_t fresh_bytes() const;

 private:
  AttrId intern(const Attr& a);
  StringTable& strings_;
  KeptArena arena_;
  IdArray<Attr> attrs_;
  IdMap<AttrId> ids_;
};

using AttrValue = std::variant<AttrId, bool, std::int64_t, double, std::string_view, DType, FunctionId, Ints>;
struct AttrArg {
  Key key;
  AttrValue value;
  template <class T>
  AttrArg(Key k, T v) : key(k), value(convert(v)) {}

 private:
  static AttrValue convert(bool v) { return v; }
  static AttrValue convert(int v) { return std::int64_t{v}; }
  static AttrValue convert(std::int64_t v) { return v; }
  static AttrValue convert(const char* v) { return std::string_view(v); }
  static AttrValue convert(const std::vector<std::int64_t>&) = delete;  // would dangle: pass Ints(v)
  template <class T>
  static AttrValue convert(T v) {
    return v;
  }
};

}  // namespace tfvm
