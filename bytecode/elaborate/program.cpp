#include "bytecode/elaborate/program.h"

#include <algorithm>

#include "bytecode/defaults.h"
#include "bytecode/elaborate/custom.h"
#include "bytecode/elaborate/elaborator.h"
#include "bytecode/elaborate/visit.h"
#include "bytecode/module_mark.h"

namespace tfvm {

namespace {

// `path` as it is written in `file`: relative to that file's folder.
std::string beside(std::string_view file, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  std::vector<std::string_view> parts;
  const std::size_t slash = file.rfind('/');
  const std::string full =
      (slash == file.npos ? std::string() : std::string(file.substr(0, slash + 1))) + std::string(path);
  for (std::size_t begin = 0; begin <= full.size();) {
    const std::size_t end = std::min(full.find('/', begin), full.size());
    const std::string_view part = std::string_view(full).substr(begin, end - begin);
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (part != "." && !(part.empty() && begin > 0))
      parts.push_back(part);
    begin = end + 1;
  }
  std::string s;
  for (std::size_t k = 0; k < parts.size(); ++k) s += (k ? "/" : "") + std::string(parts[k]);
  return s;
}

struct Importer {
  Tables& t;
  const ModuleLoader& load;
  std::map<std::string, bool> files;  // true: being read
  Module out;

  Status add(Module m) {
    const std::string file(m.file == kNone<StrId> ? std::string_view() : t.strings[m.file]);
    files[file] = true;
    for (const Import& import : m.imports) {
      const std::string path = beside(file, t.strings[import.path]);
      if (const auto it = files.find(path); it != files.end()) {
        if (it->second) return Error{Code::Name, "import of \"" + path + "\" is a cycle", import.loc};
        continue;
      }
      if (!load) return Error{Code::Io, "import of \"" + path + "\": no files can be read here", import.loc};
      Result<Module> next = load(path);
      if (!next) {
        if (next.error().loc.line == 0) next.error().loc = import.loc;
        return std::move(next).error().note("imported as \"" + path + "\"");
      }
      next->file = t.strings.intern(path);
      if (Status s = add(std::move(*next)); !s) return s;
    }
    files[file] = false;
    return merge(out, m, t.strings);
  }
};

}  // namespace

Result<Module> merge_imports(Tables& t, Module main, const ModuleLoader& load) {
  const StrId file = main.file;
  if (main.imports.empty()) return main;
  Importer in{t, load, {}, {}};
  if (Status s = in.add(std::move(main)); !s) return s.error();
  in.out.file = file;
  return std::move(in.out);
}

Status Program::load(Module module) {
  std::vector<TypeId> types = global_types_;
  for (const Global& g : module.globals) {
    const auto type = concrete_type(t_, module, g.type);
    if (!type)
      return Error{Code::Type,
                   "@" + std::string(t_.strings[g.name]) + " must have a dtype and sizes, not " +
                       pattern_text(t_, module, g.type),
                   g.loc};
    types.push_back(*type);
  }
  if (Status s = check_externs(t_, module); !s) return s;
  ModuleMark added(user_.module);
  const std::size_t known = user_.module.externs.size();
  if (user_.module.items.empty()) {
    if (Status s = check_names(module, t_.strings); !s) return s;
    user_.module = std::move(module);
  } else if (Status s = extend(user_.module, module, t_.strings); !s) {
    return s;
  }
  ExternTable externs;
  for (std::size_t at = known; at < user_.module.externs.size(); ++at) {
    const StrId op = user_.module.externs[at].op;
    ExternInfo info = declared_extern(t_, user_.module, at);
    info.rule = [this, op](Key kind, std::span<const TypeId> args) { return extern_rule(op, kind, args); };
    info.has_rule = [this, op](Key kind) { return has_extern_rule(op, kind); };
    externs.emplace(op, std::move(info));
  }
  t_.externs.reserve(t_.externs.size() + externs.size());
  t_.externs.merge(externs);  // from here on nothing fails
  global_types_ = std::move(types);
  added.keep();
  return ok();
}

void Program::forget() {
  derived_.clear();  // it refers to the others
  templates_.clear();
  depths_.clear();
}

GlobalUse Program::global(const Source& source, std::uint32_t at) const {
  return {source.module.globals[at].name, at, global_types_[at]};
}

const Program::OpRef& Program::find_op(StrId name) {
  if (const auto it = ops_.find(name); it != ops_.end()) return it->second;
  OpRef ref{tfvm::find_op(t_.strings[name]), find_core(t_.strings[name]), {}};
  // That each text of the library can be read, its tests show.
  if (const Result<Library::Found> found = ops_library_.find(t_.strings[name])) ref.function = *found;
  return ops_.emplace(name, ref).first->second;
}

Result<Callee*> Program::function(std::string_view name) {
  const StrId id = t_.strings.intern(name);
  const Item* item = user_.module.find(id);
  NamedAttrs none;
  if (item && item->kind == ItemKind::Derived) return callee(user_, user_.module.derived[item->at].callee, none);
  if (item && item->kind == ItemKind::Func) {
    Result<TemplateCallee*> f = instance_of(user_, user_.module.funcs[item->at], t_.attrs.empty());
    if (!f) return f.error();
    return static_cast<Callee*>(*f);
  }
  std::vector<std::string_view> known;
  for (const auto& [key, value] : user_.module.names)
    if (value.kind != ItemKind::Global) known.push_back(t_.strings[key]);
  std::sort(known.begin(), known.end());
  std::string message = "there is no function @" + std::string(name);
  if (const std::string near = near_miss(name, known); !near.empty()) message += "; did you mean @" + near + "?";
  return Error{Code::Name, message};
}

Result<Step> Program::finish(FunctionId f, std::vector<Local> inputs, std::vector<StrId> names) {
  Step step;
  step.inputs = std::move(inputs);
  step.input_names = std::move(names);
  step.function = f;
  if (t_.body(f).full) return step;
  step.globals = globals_used(t_, f);
  Result<FunctionId> lifted = lift_globals(t_, f, step.globals);
  if (!lifted) return lifted.error();
  step.function = *lifted;
  return step;
}

Result<Step> Program::entry(Callee& f, std::span<const TypeId> args) {
  Result<FunctionId> made = f.instantiate(args);
  if (!made) return made.error();
  const std::span<const StrId> names = f.param_names();
  return finish(*made, {}, {names.begin(), names.end()});
}

Result<Step> Program::step(const Test& test, const Stmt& stmt, const LocalTypes& types) {
  Bindings none;
  Elaborator e(*this, user_, test.loc, none);
  std::vector<Local> inputs;
  std::vector<StrId> names;
  std::vector<Local> rebound;
  Result<FunctionId> f = e.statement(stmt, types, inputs, names, rebound);
  if (!f) return f.error();
  Result<Step> step = finish(*f, std::move(inputs), std::move(names));
  if (step) step->rebound = std::move(rebound);
  return step;
}

Result<Expectation> Program::expectation(const Test& test, const Stmt& stmt, const LocalTypes& types) {
  static const std::vector<AttrSpec> kClose = parse_attr_specs("rtol:float=1e-5 atol:float=1e-8 equal_nan:bool=true");
  static const std::vector<AttrSpec> kEq = parse_attr_specs("bitwise:bool=false");
  static const std::vector<AttrSpec> kShape = parse_attr_specs("shape:ints");
  const std::string_view kind = t_.strings[stmt.op];
  const Loc loc{test.loc.file, stmt.place.line, stmt.place.col};
  const std::vector<AttrSpec>* specs = kind == "expect_close"   ? &kClose
                                       : kind == "expect_eq"    ? &kEq
                                       : kind == "expect_shape" ? &kShape
                                                                : nullptr;
  if (!specs) return Error{Code::Name, "unknown expectation '" + std::string(kind) + "'", loc};
  NamedAttrs none;
  Result<AttrId> attrs = eval_attrs(t_, module(), stmt.attrs, none);
  if (attrs) attrs = complete_attrs(t_, kind, *specs, *attrs);
  if (!attrs) {
    attrs.error().loc = loc;
    return attrs.error();
  }
  const std::size_t wanted = specs == &kShape ? 1 : 2;
  if (stmt.operands.count != wanted)
    return Error{Code::Type, std::string(kind) + " takes " + (wanted == 1 ? "one value" : "two values"), loc};
  Result<Step> step = this->step(test, stmt, types);
  if (!step) return step.error();
  return Expectation{stmt.op, *attrs, std::move(*step)};
}

Result<Initial> Program::initial(std::uint32_t at) {
  const Global& g = user_.module.globals[at];
  Initial out{global(user_, at), g.is_buffer, {}};
  if (g.init == InitKind::File) {
    out.value = beside(g.loc.file == kNone<StrId> ? std::string_view() : t_.strings[g.loc.file], t_.strings[g.path]);
  } else if (g.init != InitKind::None) {
    Bindings none;
    Elaborator e(*this, user_, g.loc, none);
    if (g.init == InitKind::Literal) {
      Result<ConstId> c = e.global_literal(g, out.global.type);
      if (!c) return c.error();
      out.value = *c;
    } else {
      Result<FunctionId> f = e.global_call(g, out.global.type);
      if (!f) return f.error();
      Result<Step> step = finish(*f, {}, {});
      if (!step) return step.error();
      out.value = std::move(*step);
    }
  }
  return out;
}

std::optional<std::int64_t> Program::axis_size(StrId name) const {
  for (std::size_t k = axes_.size(); k-- > 0;)
    if (axes_[k].name == name) return axes_[k].size;
  return std::nullopt;
}

bool Program::has(std::string_view name) const { return rules_.has(name); }

Result<FunctionId> Program::instantiate(std::string_view name, std::span<const TypeId> args) {
  const Result<Library::Found> rule = rules_.find(name);
  if (!rule) return rule.error();
  if (!*rule) return Error{Code::Name, "there is no derivative rule '" + std::string(name) + "'"};
  Result<TemplateCallee*> f = instance_of(*rule->source, *rule->function, t_.attrs.empty());
  if (!f) return f.error();
  return (*f)->instantiate(args);
}

static std::uint32_t max_depth(const AttrTable& attrs, AttrId id, const std::function<std::uint32_t(FunctionId)>& of) {
  const Attr& a = attrs[id];
  std::uint32_t depth = a.kind == AttrKind::Func ? of(a.func) : 0;
  for (AttrId item : a.items) depth = std::max(depth, max_depth(attrs, item, of));
  return depth;
}

// Of calls and blocks within each other; 1 for a function that has none.
std::uint32_t Program::depth_of(FunctionId f) {
  if (const auto it = depths_.find(f.body); it != depths_.end()) return it->second;
  const Body& body = t_.body(f);
  std::uint32_t depth = 0;
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i)
    if (info(body.ops[i]).kind == OpKind::Control || info(body.ops[i]).kind == OpKind::Reduce)
      depth = std::max(depth, max_depth(t_.attrs, body.attrs[i], [this](FunctionId g) { return depth_of(g); }));
  depths_.emplace(f.body, depth + 1);
  return depth + 1;
}

static Error too_deep(std::uint32_t limit) {
  return {Code::Limit, "calls and blocks are nested deeper than " + std::to_string(limit)};
}

Status Program::check_depth(FunctionId f) {
  if (depth_of(f) > options_.max_depth) return too_deep(options_.max_depth);
  return ok();
}

Program::Visit::Visit(Program& p, const void* what, const std::string& text) : p_(p), what_(what) {
  if (!what) {
    if (p.depth_ >= p.options_.max_depth)
      status_ = too_deep(p.options_.max_depth);
    else
      entered_ = ++p.depth_ > 0;
    return;
  }
  if (const auto it = std::ranges::find(p.active_, what, &std::pair<const void*, std::string>::first);
      it != p.active_.end()) {
    std::string path;
    for (auto at = it; at != p.active_.end(); ++at) path += at->second + " -> ";
    status_ = Error{Code::Type, "cycle of calls: " + path + text + "; loops are scan and while"};
    return;
  }
  entered_ = true;
  p.active_.emplace_back(what, text);
}

Program::Visit::~Visit() {
  if (!entered_) return;
  if (what_)
    p_.active_.pop_back();
  else
    --p_.depth_;
}

}  // namespace tfvm
