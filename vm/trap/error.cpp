// What is said of a nan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bytecode/text/body_names.h"
#include "vm/plan/flat.h"
#include "vm/trap/nan_trap.h"

namespace tfvm {

namespace {

// The value that is, or has in it, tensor `k` of the instruction or of the parameters.
ValueId value_of(const Tables& t, const NanOrigin& o) {
  const Body& body = t.body(o.function);
  std::uint32_t first = 0, count = body.num_params, k = o.out;
  if (o.at.instr != kNone<InstrId>) {
    const Instr in = body.instr(o.at.instr);
    first = index(in.first_result);
    count = in.num_results;
  }
  for (std::uint32_t v = first; v < first + count; ++v) {
    const auto leaves = static_cast<std::uint32_t>(leaf_types(t, body.types[v]).size());
    if (k < leaves) return static_cast<ValueId>(v);
    k -= leaves;
  }
  return kNoValue;
}

struct History {
  std::size_t lanes = 0;     // leading dims that vmap gave it
  bool is_backward = false;  // a cotangent
};

History history_of(const Tables& t, const NanOrigin& o, ValueId v) {
  History h;
  for (DebugId debug = o.function.debug; debug != kNone<DebugId>; debug = t.debugs[debug].parent) {
    const DebugInfo& d = t.debugs[debug];
    const auto is = [&](StrId text, std::string_view s) { return text != kNone<StrId> && t.strings[text] == s; };
    h.is_backward = h.is_backward || is(d.pass, "transpose");
    if (v == kNoValue || index(v) >= d.values.size()) continue;
    const ValueName& name = d.values[index(v)];
    h.lanes += is(d.pass, "vmap") && is(name.text, "b");
    h.is_backward = h.is_backward || is(name.text, "ct");
    v = name.origin;
  }
  h.lanes = std::min(h.lanes, o.dims.size());
  return h;
}

std::string place(const Tables& t, StepOrigin at) {
  const Loc loc = t.debugs.find_loc(at.debug, at.instr);
  return loc.line == 0 ? "" : fmt::format(" at {}:{}", t.strings[loc.file], loc.line);
}

}  // namespace

Error error_of(const Tables& t, const NanOrigin& o) {
  const ValueId v = value_of(t, o);
  const History history = history_of(t, o, v);
  std::vector<std::int64_t> index(o.dims.size());
  std::int64_t rest = o.element;
  for (std::size_t d = o.dims.size(); d-- > 0; rest /= o.dims[d]) index[d] = rest % o.dims[d];
  const std::span all(index);
  const std::span lanes = all.first(history.lanes), own = all.subspan(history.lanes);

  std::string value = v == kNoValue ? "?" : "%" + value_names(t, o.function)[tfvm::index(v)];
  if (!own.empty()) value += fmt::format("[{}]", fmt::join(own, ", "));
  std::string text = o.at.instr == kNone<InstrId> ? fmt::format("input {} holds nan: {}", o.out, value)
                                                  : fmt::format("[{}] gives nan: {}", o.op, value);
  if (!lanes.empty()) text += fmt::format(" in lane {}", fmt::join(lanes, ", "));
  Error e(Code::Assert, std::move(text));
  for (std::size_t k = o.trips.size(); k-- > 0;)
    e.notes.push_back(fmt::format("in step {} of the {}{}", o.trips[k].trip, o.trips[k].op, place(t, o.trips[k].loop)));
  if (history.is_backward) e.notes.push_back("in the backward pass: the line is that of the forward op");
  if (o.at.instr != kNone<InstrId>) {
    e.loc = t.debugs.find_loc(o.at.debug, o.at.instr);
    e.notes.push_back("in " + t.debugs.function_name(o.at.debug, t.strings));
  }
  return e;
}

}  // namespace tfvm
