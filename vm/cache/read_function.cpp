#include <algorithm>

#include "bytecode/binary/cursor.h"
#include "bytecode/callees.h"
#include "bytecode/verify.h"
#include "vm/cache/body_file.h"
#include "vm/cache/body_records.h"

namespace tfvm {

namespace {

using body_file::Record;

constexpr std::uint32_t kMaxDepth = 256;  // as Program's: passes walk down the calls
constexpr std::int64_t kMaxElements = std::int64_t{1} << 46;

class Reader {
 public:
  Reader(Tables& t, std::span<const std::byte> bytes) : t_(t), in_(bytes, "function") {}

  Result<StoredFunction> run() {
    while (!in_.failed()) {
      const auto r = static_cast<Record>(in_.choice(static_cast<std::size_t>(Record::kCount), "record"));
      if (r == Record::End) break;
      if (r == Record::String) strings_.push_back(t_.strings.intern(in_.bytes()));
      if (r == Record::Type) type();
      if (r == Record::Const) constant();
      if (r == Record::Attr) attr();
      if (r == Record::Function)
        if (Status s = function(); !s) return std::move(s).error();
    }
    StoredFunction out;
    const std::uint32_t at = below(functions_.size(), "function");
    for (std::uint32_t n = in_.count(); n > 0; --n) out.globals.push_back(in_.signed_number());
    if (!in_.failed() && !in_.at_end()) in_.fail("something follows");
    if (in_.failed()) return Error(Code::Syntax, in_.error());
    out.f = functions_[at];
    return out;
  }

 private:
  std::uint32_t below(std::size_t end, std::string_view of) { return in_.below(end, of); }
  template <class Id>
  Id one_of(const std::vector<Id>& list, std::string_view what) {
    const std::uint32_t k = below(list.size(), what);
    return in_.failed() ? kNone<Id> : list[k];
  }

  std::vector<std::int64_t> ints() {
    std::vector<std::int64_t> out;
    for (std::uint32_t n = in_.count(); n > 0; --n) out.push_back(in_.signed_number());
    return out;
  }

  DType dtype() { return static_cast<DType>(in_.choice(kDTypes, "dtype")); }

  void type() {
    const bool is_tape = in_.flag();
    const DType d = dtype();
    const TypeId item = is_tape ? one_of(types_, "type") : kNone<TypeId>;
    const std::vector<std::int64_t> dims = ints();
    const auto elements = checked_elements(dims);
    if (!elements || *elements > kMaxElements) in_.fail("a type that is too large");
    if (in_.failed()) return;
    types_.push_back(is_tape ? t_.types.tape(item, dims) : t_.types.tensor(d, dims));
  }

  void constant() {
    const TypeId type = one_of(types_, "type");
    const std::string_view bytes = in_.bytes();
    if (in_.failed()) return;
    if (!t_.types[type].is_tensor() || static_cast<std::int64_t>(bytes.size()) != t_.types.bytes(type))
      return in_.fail("a constant of another size");
    consts_.push_back(t_.consts.intern(type, std::as_bytes(std::span(bytes))));
  }

  AttrId attr_ref() {
    const std::uint32_t k = below(attrs_.size(), "attribute");
    if (in_.failed()) return t_.attrs.none();
    depth_ = std::max(depth_, attr_depths_[k]);
    return attrs_[k];
  }
  std::vector<AttrId> items(std::uint32_t n) {
    std::vector<AttrId> out;
    for (; n > 0; --n) out.push_back(attr_ref());
    return out;
  }

  AttrId number_attr(AttrKind kind) {
    const std::int64_t v = in_.signed_number();
    if (kind == AttrKind::Int) return t_.attrs.of(v);
    if (kind == AttrKind::Float) return t_.attrs.of(std::bit_cast<double>(v));
    if (kind == AttrKind::Bool) return t_.attrs.of(v != 0);
    if (v < 0 || v >= static_cast<std::int64_t>(kDTypes)) return in_.fail("unknown dtype"), t_.attrs.none();
    return t_.attrs.of(static_cast<DType>(v));
  }

  AttrId attr_of(AttrKind kind) {
    AttrTable& at = t_.attrs;
    if (body_file::has_number(kind)) return number_attr(kind);
    if (kind == AttrKind::Ints) return at.ints(ints());
    if (kind == AttrKind::Str) {
      const StrId s = one_of(strings_, "string");
      return in_.failed() ? at.none() : at.of(t_.strings[s]);
    }
    if (kind == AttrKind::Func) {
      const std::uint32_t k = below(functions_.size(), "function");
      if (in_.failed()) return at.none();
      depth_ = depths_[k];
      return at.of(functions_[k]);
    }
    if (kind == AttrKind::Const) {
      const ConstId c = one_of(consts_, "constant");
      return in_.failed() ? at.none() : at.of(c);
    }
    if (kind == AttrKind::None) return at.none();
    const std::uint32_t n = in_.count();
    if (kind == AttrKind::List) {
      const std::vector<AttrId> list = items(n);
      return in_.failed() ? at.none() : at.list(list);
    }
    if (kind == AttrKind::Call) {
      const StrId s = one_of(strings_, "string");
      const std::vector<AttrId> list = items(n);
      return in_.failed() ? at.none() : at.call(s, list);
    }
    std::vector<Key> keys;
    for (std::uint32_t k = 0; k < n; ++k) keys.push_back(key(one_of(strings_, "string")));
    const std::vector<AttrId> list = items(n);
    return in_.failed() ? at.none() : at.dict(keys, list);
  }

  void attr() {
    const auto kind = static_cast<AttrKind>(in_.choice(static_cast<std::size_t>(AttrKind::Const) + 1, "attribute"));
    depth_ = 0;
    const AttrId id = attr_of(kind);
    if (in_.failed()) return;
    attrs_.push_back(id);
    attr_depths_.push_back(depth_);
  }

  std::vector<ValueId> values(std::size_t end) {
    std::vector<ValueId> out;
    for (std::uint32_t n = in_.count(); n > 0; --n) out.push_back(static_cast<ValueId>(below(end, "value")));
    return out;
  }

  // "grad(jvp(@loss))" as DebugTable::function_name gives it: the passes over the name, outermost first.
  void set_name(DebugInfo& d, std::string_view text) {
    const std::size_t at = text.find('@');
    if (at == text.npos) return;
    DebugInfo inner;
    inner.name = t_.strings.intern(text.substr(at + 1, text.find(')', at) - at - 1));
    std::string_view passes = text.substr(0, at);
    while (passes.ends_with('(')) {
      passes.remove_suffix(1);
      const std::size_t begin = passes.rfind('(') + 1;
      const DebugId parent = t_.debugs.add(std::exchange(inner, {}));
      inner.parent = parent;
      inner.pass = t_.strings.intern(passes.substr(begin));
      passes = passes.substr(0, begin);
    }
    d.name = inner.name, d.parent = inner.parent, d.pass = inner.pass;
  }

  Status function() {
    Body b;
    DebugInfo d;
    depth_ = 0;
    const StrId name = one_of(strings_, "string");
    b.num_params = in_.count(kNoIndex - 1);
    b.effects = in_.flag();
    for (std::uint32_t n = in_.count(); n > 0; --n) b.types.push_back(one_of(types_, "type"));
    b.operand_begin = {0};
    b.result_begin = {b.num_params};
    for (std::uint32_t n = in_.count(); n > 0 && !in_.failed(); --n) {
      b.ops.push_back(static_cast<Op>(below(kOps, "op")));
      b.attrs.push_back(attr_ref());
      const std::vector<ValueId> operands = values(b.result_begin.back());
      b.operands.insert(b.operands.end(), operands.begin(), operands.end());
      b.operand_begin.push_back(static_cast<std::uint32_t>(b.operands.size()));
      b.result_begin.push_back(b.result_begin.back() + below(b.types.size() + 1, "count"));
      const StrId file = one_of(strings_, "string");
      d.locs.push_back({file, below(kNoIndex, "line"), below(kNoIndex, "column")});
    }
    b.results = values(b.types.size());
    if (in_.failed()) return ok();
    if (depth_ >= kMaxDepth) return Error(Code::Limit, "functions are nested too deep");
    set_name(d, t_.strings[name]);
    const FunctionId f{t_.bodies.intern(std::move(b)), t_.debugs.add(std::move(d))};
    if (Status s = verify(t_, f); !s) return s;
    functions_.push_back(f);
    depths_.push_back(depth_ + 1);
    return ok();
  }

  Tables& t_;
  tfbc::Cursor in_;
  std::vector<StrId> strings_;
  std::vector<TypeId> types_;
  std::vector<ConstId> consts_;
  std::vector<AttrId> attrs_;
  std::vector<FunctionId> functions_;
  std::vector<std::uint32_t> depths_, attr_depths_;  // of functions within each other
  std::uint32_t depth_ = 0;                          // of what the record at hand refers to
};

}  // namespace

Result<StoredFunction> read_function(Tables& t, std::span<const std::byte> bytes) { return Reader(t, bytes).run(); }

}  // namespace tfvm
