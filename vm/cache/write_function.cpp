#include <unordered_map>

#include "bytecode/binary/format.h"
#include "vm/cache/body_file.h"
#include "vm/cache/body_records.h"

namespace tfvm {

namespace {

using body_file::Record;

class Writer {
 public:
  explicit Writer(const Tables& t) : t_(t) {}

  std::optional<std::vector<std::byte>> run(const StoredFunction& f) {
    const std::uint32_t at = function(f.f);
    if (refused_) return std::nullopt;
    record(Record::End);
    out_.number(at);
    out_.number(f.globals.size());
    for (std::int64_t g : f.globals) out_.signed_number(g);
    return std::move(out_.data());
  }

 private:
  void record(Record r) { out_.byte(static_cast<std::uint8_t>(r)); }
  std::uint32_t refuse() {
    refused_ = true;
    return 0;
  }

  template <class Map, class Id>
  std::uint32_t number(Map& map, Id id) {
    const auto n = static_cast<std::uint32_t>(map.size());
    map.emplace(id, n);
    return n;
  }

  std::uint32_t string(std::string_view s) {
    if (const auto it = strings_.find(std::string(s)); it != strings_.end()) return it->second;
    record(Record::String);
    out_.bytes(s);
    return number(strings_, std::string(s));
  }

  std::uint32_t type(TypeId id) {
    if (const auto it = types_.find(id); it != types_.end()) return it->second;
    const Type& t = t_.types[id];
    if (t.kind == TypeKind::Pack) return refuse();
    const std::uint32_t item = t.kind == TypeKind::Tape ? type(t.items[0]) : 0;
    record(Record::Type);
    out_.byte(t.kind == TypeKind::Tape);
    out_.byte(static_cast<std::uint8_t>(t.dtype));
    if (t.kind == TypeKind::Tape) out_.number(item);
    ints(t.dims);
    return number(types_, id);
  }

  void ints(Ints list) {
    out_.number(list.size());
    for (std::int64_t v : list) out_.signed_number(v);
  }

  std::uint32_t constant(ConstId id) {
    if (const auto it = consts_.find(id); it != consts_.end()) return it->second;
    const Constant& c = t_.consts[id];
    const std::uint32_t of = type(c.type);
    record(Record::Const);
    out_.number(of);
    out_.bytes({reinterpret_cast<const char*>(c.bytes.data()), c.bytes.size()});
    return number(consts_, id);
  }

  std::uint32_t attr(AttrId id) {
    if (const auto it = attrs_.find(id); it != attrs_.end()) return it->second;
    const Attr& a = t_.attrs[id];
    std::vector<std::uint32_t> refs;  // written before this record
    if (a.kind == AttrKind::Str || a.kind == AttrKind::Call) refs.push_back(string(t_.strings[a.str]));
    if (a.kind == AttrKind::Func) refs.push_back(function(a.func));
    if (a.kind == AttrKind::Const) refs.push_back(constant(a.constant));
    for (Key k : a.keys) refs.push_back(string(t_.strings[k]));
    for (AttrId item : a.items) refs.push_back(attr(item));
    record(Record::Attr);
    out_.byte(static_cast<std::uint8_t>(a.kind));
    if (body_file::has_number(a.kind)) out_.signed_number(a.i);
    if (a.kind == AttrKind::Ints) ints(a.ints);
    if (a.kind == AttrKind::Dict) out_.number(a.keys.size());
    if (a.kind == AttrKind::List || a.kind == AttrKind::Call) out_.number(a.items.size());
    for (std::uint32_t r : refs) out_.number(r);
    return number(attrs_, id);
  }

  std::uint32_t function(FunctionId f) {
    if (const auto it = functions_.find(f); it != functions_.end()) return it->second;
    const Body& b = t_.body(f);
    if (b.full || !b.mut_params.empty() || refused_) return refuse();
    std::vector<std::uint32_t> types, attrs, files;
    std::vector<Loc> locs;
    for (TypeId id : b.types) types.push_back(type(id));
    for (std::uint32_t i = 0; i < b.num_instrs() && !refused_; ++i) {
      if (b.ops[i] == Op::extern_ || b.ops[i] == Op::global) return refuse();
      attrs.push_back(attr(b.attrs[i]));
      locs.push_back(t_.debugs.find_loc(f.debug, static_cast<InstrId>(i)));
      files.push_back(string(locs.back().line ? t_.strings[locs.back().file] : std::string_view()));
    }
    const std::uint32_t name = string(t_.debugs.function_name(f.debug, t_.strings));
    if (refused_) return 0;
    record(Record::Function);
    out_.number(name);
    out_.number(b.num_params);
    out_.byte(b.effects);
    out_.number(types.size());
    for (std::uint32_t k : types) out_.number(k);
    out_.number(b.num_instrs());
    for (std::uint32_t i = 0; i < b.num_instrs(); ++i) {
      const Instr in = b.instr(i);
      out_.number(static_cast<std::uint64_t>(in.op));
      out_.number(attrs[i]);
      values(in.operands);
      out_.number(in.num_results);
      out_.number(files[i]);
      out_.number(locs[i].line);
      out_.number(locs[i].col);
    }
    values(b.results);
    return number(functions_, f);
  }

  void values(std::span<const ValueId> list) {
    out_.number(list.size());
    for (ValueId v : list) out_.number(index(v));
  }

  const Tables& t_;
  tfbc::Sink out_;
  bool refused_ = false;
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::unordered_map<TypeId, std::uint32_t> types_;
  std::unordered_map<ConstId, std::uint32_t> consts_;
  std::unordered_map<AttrId, std::uint32_t> attrs_;
  std::unordered_map<FunctionId, std::uint32_t> functions_;
};

}  // namespace

std::optional<std::vector<std::byte>> write_function(const Tables& t, const StoredFunction& f) {
  return Writer(t).run(f);
}

}  // namespace tfvm
