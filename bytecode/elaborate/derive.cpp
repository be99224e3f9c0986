// From a callee as written to a function: names, attribute parameters, transforms and what their attributes name.
#include <algorithm>

#include "bytecode/defaults.h"
#include "bytecode/elaborate/derived.h"
#include "bytecode/elaborate/program.h"
#include "bytecode/elaborate/visit.h"

namespace tfvm {

namespace {

AttrType attr_type(ParamKind kind) {
  constexpr AttrType kTypes[] = {AttrType::Int, AttrType::Float, AttrType::Bool,
                                 AttrType::Str, AttrType::DType, AttrType::Ints};
  return kTypes[static_cast<std::size_t>(kind)];
}

std::string_view group_of(std::string_view name) { return name.substr(0, name.find('.')); }

// Places of the parameter `name`, or of all parameters of the group `name`.
std::vector<std::int64_t> places_of(const StringTable& strings, std::span<const StrId> params, std::string_view name) {
  std::vector<std::int64_t> out;
  for (std::size_t k = 0; k < params.size(); ++k) {
    const std::string_view p = strings[params[k]];
    if (p == name || (group_of(p) == name && p.size() > name.size())) out.push_back(static_cast<std::int64_t>(k));
  }
  return out;
}

// in_dims with one entry for each group of parameters -> one for each parameter.
AttrId spread_groups(Tables& t, std::span<const StrId> params, AttrId dims) {
  const Attr a = t.attrs[dims];
  std::vector<AttrId> entries(a.items.begin(), a.items.end()), out;
  for (std::int64_t d : a.ints) entries.push_back(t.attrs.of(d));
  if ((a.kind != AttrKind::Ints && a.kind != AttrKind::List) || entries.size() >= params.size()) return dims;
  std::vector<std::string_view> groups;
  for (StrId p : params) {
    const std::string_view g = group_of(t.strings[p]);
    if (std::ranges::find(groups, g) == groups.end()) groups.push_back(g);
  }
  if (groups.size() != entries.size()) return dims;
  for (StrId p : params) {
    const auto at = std::ranges::find(groups, group_of(t.strings[p])) - groups.begin();
    out.push_back(entries[static_cast<std::size_t>(at)]);
  }
  return t.attrs.list(out);
}

// What argnums names: places among the parameters, and params or buffers, in the order written.
struct Argnums {
  struct Place {
    StrId global;     // kNone: a parameter
    std::int64_t at;  // number of the parameter, or of the global in order of declaration
  };
  std::vector<Place> places;
};

Result<Argnums> parse_argnums(Tables& t, const Module& m, const Module& items, const Node& node, Callee& inner,
                              AttrScope& scope) {
  Argnums out;
  const bool is_list = node.kind == NodeKind::List;
  for (std::uint32_t k = 0; k < (is_list ? node.items.count : 1); ++k) {
    const std::uint32_t at = is_list ? node.items.begin + k : static_cast<std::uint32_t>(&node - m.nodes.data());
    const Node& n = m.nodes[at];
    if (n.kind == NodeKind::Func) {
      const CalleeExpr& c = m.callees[n.at];
      const Item* item = c.is_transform() ? nullptr : items.find(c.name);
      if (!item || item->kind != ItemKind::Global)
        return Error{Code::Type,
                     "argnums names inputs, params and buffers; @" + std::string(t.strings[c.name]) + " is a function"};
      out.places.push_back({c.name, item->at});
      continue;
    }
    Result<AttrId> value = eval_attr(t, m, at, scope, true);
    if (!value) return value.error();
    const Attr a = t.attrs[*value];
    if (a.kind == AttrKind::Int) {
      out.places.push_back({kNone<StrId>, a.i});
    } else if (a.kind == AttrKind::Ints) {
      for (std::int64_t i : a.ints) out.places.push_back({kNone<StrId>, i});
    } else if (a.kind == AttrKind::Str) {
      const auto places = places_of(t.strings, inner.param_names(), t.strings[a.str]);
      if (places.empty())
        return Error{Code::Name,
                     inner.text() + " has no parameter %" + std::string(t.strings[a.str]) + " that argnums could name"};
      for (std::int64_t i : places) out.places.push_back({kNone<StrId>, i});
    } else {
      return Error{Code::Type, "argnums must be numbers or names of inputs and params"};
    }
  }
  return out;
}

// Numbers of arguments, where the params that are named come first: `bound`, in order of declaration.
Result<std::vector<std::int64_t>> resolve(const Tables& t, const Argnums& argnums, Callee& inner,
                                          std::vector<GlobalUse>& bound) {
  for (const GlobalUse& g : inner.globals())
    if (std::ranges::any_of(argnums.places, [&](const auto& p) { return p.global != kNone<StrId> && p.at == g.index; }))
      bound.push_back(g);
  const auto count = static_cast<std::int64_t>(bound.size());
  std::vector<std::int64_t> out;
  for (const Argnums::Place& p : argnums.places) {
    const auto it = std::ranges::find(bound, p.at, &GlobalUse::index);
    if (p.global == kNone<StrId>)
      out.push_back(p.at + (p.at >= 0 ? count : 0));
    else if (it != bound.end())
      out.push_back(it - bound.begin());
    else
      return Error{Code::Type,
                   inner.text() + " does not use @" + std::string(t.strings[p.global]) + ", which argnums names"};
  }
  return out;
}

}  // namespace

Result<TemplateCallee*> Program::instance_of(const Source& source, const Template& f, AttrId given) {
  const std::string name = (source.space == Space::User ? "@" : "") + std::string(t_.strings[f.name]);
  if (f.attr_params.empty() && given == t_.attrs.empty()) {
    auto& slot = templates_[{&f, given}];
    if (!slot) slot = std::make_unique<TemplateCallee>(*this, source, f, given);
    return slot.get();
  }
  std::vector<AttrSpec> specs;
  AttrId attrs = given;
  NamedAttrs scope;
  for (const AttrParam& p : f.attr_params) {
    const Attr d = t_.attrs[attrs];
    const bool is_given = std::ranges::find(d.keys, p.key) != d.keys.end();
    if (!is_given && p.default_node != kNoIndex) {
      Result<AttrId> v = eval_attr(t_, source.module, p.default_node, scope);
      if (!v) return v.error();
      attrs = t_.attrs.with(attrs, p.key, *v);
    }
    if (!is_given && p.default_node == kNoIndex)
      return Error{Code::Type, "[" + name + "] needs the attribute '" + std::string(t_.strings[p.key]) + "'"};
    const bool may_be_none = p.default_node != kNoIndex && source.module.nodes[p.default_node].kind == NodeKind::None;
    specs.push_back({p.key, attr_type(p.kind), !may_be_none, may_be_none ? "none" : ""});
    if (is_given || p.default_node != kNoIndex) scope.names.emplace_back(str(p.key), t_.attrs.get(attrs, p.key));
  }
  Result<AttrId> complete = complete_attrs(t_, name, specs, attrs);
  if (!complete) return complete.error();
  auto& slot = templates_[{&f, *complete}];
  if (!slot) slot = std::make_unique<TemplateCallee>(*this, source, f, *complete);
  return slot.get();
}

Result<Callee*> Program::callee(const Source& source, std::uint32_t at, AttrScope& scope) {
  return callee(source, source.module, at, scope);
}

Result<Callee*> Program::callee(const Module& pools, std::uint32_t at) {
  NamedAttrs none;
  return callee(user_, pools, at, none);
}

// `m` holds the text of the callee, the source the items that it names.
Result<Callee*> Program::callee(const Source& source, const Module& m, std::uint32_t at, AttrScope& scope) {
  const CalleeExpr& e = m.callees[at];
  if (e.is_transform()) {  // they nest on the stack as calls do, through the names of derived functions too
    Visit deeper(*this, nullptr, {});
    if (!deeper.status()) return deeper.status().error();
    Result<Callee*> inner = callee(source, m, e.inner, scope);
    if (!inner) return inner;
    return transform(source, m, e, **inner, scope);
  }
  const std::string name = "@" + std::string(t_.strings[e.name]);
  if (source.space != Space::User) {
    const Result<Library::Found> other = library(source.space).find(t_.strings[e.name]);
    if (!other) return other.error();
    if (!*other) return Error{Code::Name, name + " is not defined"};
    return instance_by_name(*other->source, *other->function, m, e, scope);
  }
  const Item* item = source.module.find(e.name);
  if (!item) return Error{Code::Name, name + " is not defined"};
  if (item->kind == ItemKind::Derived) {
    if (!e.attrs.empty()) {
      const Key first = Module::at(m.entries, e.attrs).front().key;
      return Error{Code::Type,
                   name + " is derived: it has no attribute parameter '" + std::string(t_.strings[first]) + "'"};
    }
    const Derived& d = source.module.derived[item->at];
    Visit visit(*this, &d, name);
    if (!visit.status()) return visit.status().error();
    NamedAttrs none;
    return callee(source, d.callee, none);
  }
  if (item->kind != ItemKind::Func) return Error{Code::Type, name + " is a param or buffer, not a function"};
  return instance_by_name(source, source.module.funcs[item->at], m, e, scope);
}

// @f<axis=0>: `m` holds the text of the callee, the source the function.
Result<Callee*> Program::instance_by_name(const Source& source, const Template& f, const Module& m, const CalleeExpr& e,
                                          AttrScope& scope) {
  Result<AttrId> attrs = eval_attrs(t_, m, e.attrs, scope);
  if (!attrs) return attrs.error();
  Result<TemplateCallee*> callee = instance_of(source, f, *attrs);
  if (!callee) return callee.error();
  return static_cast<Callee*>(*callee);
}

Result<AttrId> Program::transform_attrs(const Source& source, const Module& m, const CalleeExpr& e,
                                        std::span<const AttrSpec> specs, AttrScope& scope, Callee& inner,
                                        std::vector<GlobalUse>& bound) {
  std::vector<Key> keys;
  std::vector<AttrId> values;
  for (const Entry& entry : Module::at(m.entries, e.attrs)) {
    if (std::ranges::find(keys, entry.key) != keys.end())
      return Error{Code::Type, "'" + std::string(t_.strings[entry.key]) + "' is given twice"};
    AttrId value = t_.attrs.none();
    if (entry.key == Key::argnums) {  // may name params
      Result<Argnums> a = parse_argnums(t_, m, source.module, m.nodes[entry.node], inner, scope);
      Result<std::vector<std::int64_t>> places = a ? resolve(t_, *a, inner, bound) : a.error();
      if (!places) return places.error();
      value = t_.attrs.ints(*places);
    } else {
      Result<AttrId> v = eval_attr(t_, m, entry.node, scope, true);
      if (!v) return v.error();
      value = entry.key == Key::in_dims ? spread_groups(t_, inner.param_names(), *v) : *v;
    }
    keys.push_back(entry.key);
    values.push_back(value);
  }
  return complete_attrs(t_, t_.strings[e.name], specs, t_.attrs.dict(keys, values));
}

const TransformRow* Program::find_transform(std::string_view name, std::string& message) const {
  if (const TransformRow* row = options_.transforms ? options_.transforms->find(name) : nullptr) return row;
  std::vector<std::string_view> known = {"checkpoint", "functional_call", "stack_params"};
  if (options_.transforms)
    for (const TransformRow& r : options_.transforms->rows) known.push_back(r.name);
  message = "unknown transform '" + std::string(name) + "'";
  if (const std::string near = near_miss(name, known); !near.empty()) message += "; did you mean '" + near + "'?";
  return nullptr;
}

Result<Callee*> Program::transform(const Source& source, const Module& m, const CalleeExpr& e, Callee& inner,
                                   AttrScope& scope) {
  static const std::vector<AttrSpec> kCheckpoint = parse_attr_specs("policy:any=\"nothing_saveable\"");
  static const std::vector<AttrSpec> kStack = parse_attr_specs("n:int=none");
  const std::string_view name = t_.strings[e.name];
  const std::string text = std::string(name) + "(" + inner.text() + ")";
  std::string unknown;
  const bool is_checkpoint = name == "checkpoint", is_functional = name == "functional_call";
  const bool is_stack = name == "stack_params";
  const TransformRow* row = is_checkpoint || is_functional || is_stack ? nullptr : find_transform(name, unknown);
  if (!unknown.empty()) return Error{Code::Name, unknown};
  std::vector<GlobalUse> bound;
  const std::span<const AttrSpec> specs = is_checkpoint ? std::span(kCheckpoint)
                                          : is_stack    ? std::span(kStack)
                                          : row         ? std::span(row->attrs)
                                                        : std::span<const AttrSpec>();
  Result<AttrId> attrs = transform_attrs(source, m, e, specs, scope, inner, bound);
  if (!attrs) return attrs.error();
  Callee* target = &inner;
  if (!bound.empty()) {
    std::vector<std::int64_t> which;
    for (const GlobalUse& g : bound) which.push_back(g.index);
    auto& lifted = derived_[{e.name, &inner, t_.attrs.none(), which}];
    if (!lifted) lifted = std::make_unique<LiftedCallee>(*this, inner, bound, false);
    target = lifted.get();
  }
  auto& slot = derived_[{e.name, target, *attrs, {}}];
  if (!slot && is_checkpoint)
    slot = std::make_unique<CheckpointCallee>(*this, inner, t_.attrs.get(*attrs, Key::policy));
  if (!slot && is_functional) slot = std::make_unique<LiftedCallee>(*this, inner, inner.globals(), true);
  if (!slot && is_stack) {
    const bool given = t_.attrs.has(*attrs, Key::n);
    slot = std::make_unique<StackedCallee>(*this, inner,
                                           given ? std::optional(t_.attrs.get_int(*attrs, Key::n)) : std::nullopt);
  }
  if (!slot) slot = std::make_unique<TransformCallee>(*this, *row, *target, *attrs, text);
  if (bound.empty()) return slot.get();
  // The transform sees params as inputs; whoever calls it does not.
  auto& closed = derived_[{e.name, slot.get(), t_.attrs.none(), {}}];
  if (!closed) closed = std::make_unique<BoundCallee>(*this, *slot, bound, inner.globals(), text);
  return closed.get();
}

}  // namespace tfvm
