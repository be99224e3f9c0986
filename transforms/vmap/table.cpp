// The row `vmap` of the table of transforms.
#include "transforms/vmap/table.h"

#include <algorithm>

#include "bytecode/nested_types.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

using Dim = std::optional<std::int64_t>;

// in_dims, out_dims: one number or none for all, or a list with one entry each.
Result<std::vector<Dim>> parse_dims(const Tables& t, std::string_view what, AttrId id) {
  const Attr& a = t.attrs[id];
  std::vector<Dim> out;
  switch (a.kind) {
    case AttrKind::None:
      return std::vector<Dim>{std::nullopt};
    case AttrKind::Int:
      return std::vector<Dim>{a.i};
    case AttrKind::Ints:
      return std::vector<Dim>(a.ints.begin(), a.ints.end());
    case AttrKind::List:
      for (AttrId item : a.items) {
        const Attr& d = t.attrs[item];
        if (d.kind != AttrKind::None && d.kind != AttrKind::Int) break;
        out.push_back(d.kind == AttrKind::Int ? Dim(d.i) : std::nullopt);
      }
      if (out.size() == a.items.size()) return out;
      break;
    default:
      break;
  }
  return Error{Code::Type, "[vmap] " + std::string(what) + " must be a number, none, or a list of these"};
}

Result<VmapParams> parse_params(TransformEnv& env, AttrId attrs, std::size_t args) {
  const AttrTable& at = env.tables.attrs;
  VmapParams p;
  Result<std::vector<Dim>> in = parse_dims(env.tables, "in_dims", at.get(attrs, Key::in_dims));
  if (!in) return in.error();
  Result<std::vector<Dim>> out = parse_dims(env.tables, "out_dims", at.get(attrs, Key::out_dims));
  if (!out) return out.error();
  p.in_dims = *in;
  p.out_dims = *out;
  const AttrKind kind = at[at.get(attrs, Key::in_dims)].kind;
  if (kind == AttrKind::Int || kind == AttrKind::None) p.in_dims.assign(args, p.in_dims[0]);
  if (at.has(attrs, Key::axis_size)) p.axis_size = at.get_int(attrs, Key::axis_size);
  if (at.has(attrs, Key::axis_name)) p.axis_name = at[at.get(attrs, Key::axis_name)].str;
  const Result<LaneAttrs> lanes = lane_attrs(env.tables, attrs, "vmap");
  if (!lanes) return lanes.error();
  p.chunk_size = lanes->chunk_size;
  p.randomness = lanes->randomness;
  return p;
}

// The types that one lane sees, as far as they are known: in_dims that don't fit are left to `make`.
std::vector<TypeId> known_lanes(TransformEnv& env, AttrId attrs, std::span<const TypeId> args) {
  std::vector<TypeId> lane(args.begin(), args.end());
  const Result<VmapParams> p = parse_params(env, attrs, args.size());
  for (std::size_t j = 0; p && j < std::min(lane.size(), p->in_dims.size()); ++j) {
    if (lane[j] == kNone<TypeId> || !p->in_dims[j]) continue;
    const Type type = env.tables.types[lane[j]];
    if (!type.is_tensor()) lane[j] = lane_type(env.tables.types, lane[j]).value_or(lane[j]);
    const std::int64_t dim = *p->in_dims[j] + (*p->in_dims[j] < 0 ? type.rank() : 0);
    if (!type.is_tensor() || dim < 0 || dim >= type.rank()) continue;
    std::vector<std::int64_t> dims(type.dims.begin(), type.dims.end());
    dims.erase(dims.begin() + dim);
    lane[j] = env.tables.types.tensor(type.dtype, dims);
  }
  return lane;
}

// While the callee is looked at, the name of the axis is in scope.
class InScope {
 public:
  InScope(CalleeRef& callee, StrId name, std::int64_t size) : axes_(callee.axes()), entered_(name != kNone<StrId>) {
    if (entered_) axes_.push_back({name, size});
  }
  ~InScope() {
    if (entered_) axes_.pop_back();
  }
  InScope(const InScope&) = delete;

 private:
  std::vector<NamedAxis>& axes_;
  bool entered_;
};

// The number of lanes where the arguments that are known tell it, else 0.
std::int64_t known_size(TransformEnv& env, AttrId attrs, std::span<const TypeId> args) {
  const Result<VmapParams> p = parse_params(env, attrs, args.size());
  if (!p || p->axis_size) return p ? *p->axis_size : 0;
  for (std::size_t k = 0; k < std::min(args.size(), p->in_dims.size()); ++k) {
    if (args[k] == kNone<TypeId> || !p->in_dims[k]) continue;
    const Type type = env.tables.types[args[k]];
    const std::int64_t dim = *p->in_dims[k] + (*p->in_dims[k] < 0 ? type.rank() : 0);
    if (type.is_tensor() && dim >= 0 && dim < type.rank()) return type.dims[static_cast<std::size_t>(dim)];
  }
  return 0;
}

StrId axis_name(const TransformEnv& env, AttrId attrs) {
  const AttrTable& at = env.tables.attrs;
  return at.has(attrs, Key::axis_name) ? at[at.get(attrs, Key::axis_name)].str : kNone<StrId>;
}

Result<std::size_t> arity(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> available) {
  const InScope scope(callee, axis_name(env, attrs), known_size(env, attrs, available));
  return callee.arity(known_lanes(env, attrs, available));
}

std::optional<DType> hint(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> args,
                          std::size_t k) {
  const InScope scope(callee, axis_name(env, attrs), known_size(env, attrs, args));
  return callee.hint(known_lanes(env, attrs, args), k);
}

Result<FunctionId> make(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> args) {
  Result<VmapParams> p = parse_params(env, attrs, args.size());
  if (!p) return p.error();
  Result<FunctionId> f = vmap_callee(env, callee, attrs, args);
  if (!f) return f.error();
  return vmap(env, *f, args, *p);
}

}  // namespace

Result<FunctionId> vmap_callee(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> args) {
  const Result<VmapParams> p = parse_params(env, attrs, args.size());
  if (!p) return p.error();
  std::int64_t size = 0;
  const Result<std::vector<TypeId>> lanes = lane_types(env, args, *p, size);
  if (!lanes) return lanes.error();
  const InScope scope(callee, p->axis_name, size);
  return callee.instantiate(*lanes);
}

Result<LaneAttrs> lane_attrs(const Tables& t, AttrId attrs, std::string_view transform) {
  const std::string head = "[" + std::string(transform) + "] ";
  LaneAttrs out;
  if (t.attrs.has(attrs, Key::chunk_size)) out.chunk_size = t.attrs.get_int(attrs, Key::chunk_size);
  if (out.chunk_size.value_or(1) < 1) return Error{Code::Type, head + "chunk_size must be at least 1"};
  const std::string_view randomness = t.attrs.get_str(attrs, Key::randomness);
  constexpr std::string_view kNames[] = {"error", "same", "different"};
  const auto named = std::ranges::find(kNames, randomness);
  if (named == std::end(kNames))
    return Error{Code::Type, head + "randomness must be \"error\", \"same\" or \"different\", not \"" +
                                 std::string(randomness) + "\""};
  out.randomness = static_cast<Randomness>(named - std::begin(kNames));
  return out;
}

TransformRow vmap_row() {
  return {.name = "vmap",
          .attrs =
              parse_attr_specs("in_dims:any=0 out_dims:any=0 axis_size:int=none axis_name:str=none chunk_size:int=none "
                               "randomness:str=\"error\""),
          .arity = arity,
          .make = make,
          .keeps_params = true,
          .hint = hint};
}

}  // namespace tfvm
