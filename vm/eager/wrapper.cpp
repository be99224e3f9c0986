#include "vm/eager/wrapper.h"

#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "bytecode/elaborate/globals.h"
#include "bytecode/expand/writes.h"

namespace tfvm {

namespace {

constexpr std::size_t kMostForms = 64;  // of one function; others run as written

std::int64_t address(const std::byte* p) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p)); }

bool all_tensors(const Tables& t, std::span<const TypeId> types) {
  return std::ranges::all_of(types, [&](TypeId type) { return t.types[type].is_tensor(); });
}

// The innermost write that is the first into a parameter of f; no name where there is none.
struct Writer {
  std::string op;
  Loc loc;
};
Writer writer_of(const Tables& t, FunctionId f, std::uint32_t param) {
  const Body& body = t.body(f);
  const Sharing shares = sharing(t, body);
  const std::uint32_t i = shares.first[param];
  if (i == Sharing::kNoInstr) return {};
  const Instr in = body.instr(i);
  const std::vector<FunctionId> functions = callees(t, in.op, in.attrs);
  for (std::size_t c = 0; c < functions.size(); ++c) {
    const Body& callee = t.body(functions[c]);
    for (std::uint32_t p = 0; p < callee.mut_params.size(); ++p) {
      const auto at = shared_operand(t, in, c, p);
      if (!at || !callee.mut_params[p] || std::ranges::count(shares.values[index(in.operands[*at])], param) == 0)
        continue;
      if (Writer inner = writer_of(t, functions[c], p); !inner.op.empty()) return inner;
    }
  }
  const std::string op =
      in.op == Op::extern_ ? std::string(t.attrs.get_str(in.attrs, Key::op)) : write_name(t, in.op, in.attrs);
  return {op, t.debugs.find_loc(f.debug, static_cast<InstrId>(i))};
}

// What tells one sharing of memory from another: groups, and places within flat bases.
std::vector<std::int64_t> key_of(std::span<const Argument> args, const Grouping& grouping) {
  std::vector<std::int64_t> key;
  for (const ArgumentGroup& g : grouping.groups) {
    key.insert(key.end(), {static_cast<std::int64_t>(g.kind), g.elements, static_cast<std::int64_t>(g.args.size())});
    for (std::uint32_t k : g.args) {
      key.push_back(k);
      if (!g.flat()) continue;
      const functional::Strided s = place_in(g, args[k]);
      key.push_back(s.offset);
      key.insert(key.end(), s.strides.begin(), s.strides.end());
    }
  }
  return key;
}

// The elements of an argument in the flat base that `flat` is the value of.
Tensor part(const ArgumentGroup& g, const Argument& a, const Tensor& flat) {
  const functional::Strided s = place_in(g, a);
  return flat.with_layout(Layout{s.shape, s.strides, s.offset});
}

void copy(const Tensor& to, const Tensor& from) {
  copy_elements(to.layout(), to.base(), from.layout(), from.base(), size_of(to.dtype()));
}

std::byte* pointer(std::int64_t address) { return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address)); }

}  // namespace

Result<std::shared_ptr<FunctionWrapper>> FunctionWrapper::make(Env env, FunctionId f, EagerRef as_written) {
  Tables& t = env.t;
  std::shared_ptr<FunctionWrapper> w;
  if (!all_tensors(t, t.body(f).param_types()) || !all_tensors(t, t.body(f).result_types())) return w;
  const std::vector<GlobalUse> globals = globals_used(t, f);
  const Result<FunctionId> lifted = lift_globals(t, f, globals);
  if (!lifted) return lifted.error();
  w.reset(new FunctionWrapper(std::move(env)));
  w->lifted_ = *lifted;
  w->as_written_ = std::move(as_written);
  for (const GlobalUse& g : globals) w->globals_.push_back(g.index);
  const Body& body = t.body(*lifted);
  w->types_.assign(body.param_types().begin(), body.param_types().end());
  w->use_ = layout_use(t, *lifted);
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    const Writer by = writer_of(t, *lifted, k);
    w->written_.push_back(!by.op.empty());
    w->sites_.push_back(by.op.empty() ? 0 : w->env_.code.sites.add(by.op, by.loc));
  }
  return w;
}

std::vector<Argument> FunctionWrapper::arguments(std::span<const Tensor> tensors) const {
  std::vector<Argument> out;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const Tensor& t = tensors[k];
    Argument& a = out.emplace_back();
    a.size = size_of(t.dtype());
    a.dtype = t.dtype();
    a.type = types_[k];
    a.first = address(t.data());
    a.place = {0, t.layout().dims, t.layout().strides};
    a.written = written_[k];
    const Extent e = extent(t.layout());
    a.storage_begin = t.storage() ? address(t.storage()->data()) : address(t.base()) + e.begin * a.size;
    a.storage_end = t.storage() ? a.storage_begin + t.storage()->bytes() : address(t.base()) + e.end * a.size;
  }
  return out;
}

Result<FunctionWrapper::FormRef> FunctionWrapper::make_form(const Call& c, std::vector<std::int64_t> key) {
  auto out = std::make_shared<Form>();
  out->key = std::move(key);
  const std::lock_guard guard(env_.lock);
  Tables& t = env_.t;
  if (env_.sealed)
    return Error(Code::Sealed, "a form would have to be made, for arguments that share memory so: " + text(c.grouping));
  Result<FunctionalForm> form = functional_form(t, lifted_, pattern_of(t, c.args, c.grouping), {env_.builder});
  Result<EagerRef> code = form ? env_.code.get(t, form->f, env_.budget) : Result<EagerRef>(form.error());
  if (env_.log) {
    const std::string name = t.debugs.function_name(lifted_.debug, t.strings);
    const std::string how = text(c.grouping);
    env_.log(name + ": " +
             (code ? (how.empty() ? "inputs share no memory" : how) : "as written: " + code.error().message));
  }
  if (!code || !can_follow(t, *form)) return FormRef(std::move(out));
  out->form = *std::move(form);
  out->code = *std::move(code);
  for (const functional::Place& place : out->form.results) {
    std::vector<ViewOp>& views = out->views.emplace_back();
    for (const functional::View& v : place.ref.chain) {
      const bool whole = v.op == Op::real && !is_complex(t.types.dtype(v.from));
      views.push_back(view_op(t, whole ? Op::alias : v.op, v.attrs, v.to));
    }
  }
  return FormRef(std::move(out));
}

// Leaves the form empty where the function runs as written.
Status FunctionWrapper::find_form(Call& c) {
  c.grouping = group_arguments(c.args, use_);
  if (!c.grouping.refused.empty()) {
    if (!env_.log) return ok();
    const std::lock_guard guard(env_.lock);
    env_.log("as written: " + c.grouping.refused);
    return ok();
  }
  std::vector<std::int64_t> key = key_of(c.args, c.grouping);
  {
    const std::lock_guard guard(forms_lock_);
    const auto it = std::ranges::find(
        forms_, key, [](const FormRef& f) -> const auto& { return f->key; });
    if (it != forms_.end()) c.form = *it;
    if (c.form || forms_.size() >= kMostForms) return ok();
  }
  Result<FormRef> made = make_form(c, std::move(key));
  if (!made) return std::move(made).error();
  c.form = *std::move(made);
  const std::lock_guard guard(forms_lock_);
  forms_.push_back(c.form);
  return ok();
}

// A synthetic base is made of its arguments' elements: what lies between them is not the function's.
Result<std::vector<Tensor>> FunctionWrapper::bases_of(const Call& c) const {
  std::vector<Tensor> out;
  for (const ArgumentGroup& g : c.grouping.groups) {
    const Tensor& first = c.tensors[g.args[0]];
    const std::vector<std::int64_t> dims{g.elements};
    if (!g.flat()) {
      out.push_back(first);
    } else if (g.kind == ArgumentGroup::Kind::Storage) {
      out.push_back(Tensor::over(pointer(g.begin), first.dtype(), row_major(dims), first.storage()));
    } else {
      Result<Tensor> flat = Tensor::make(env_.budget, first.dtype(), dims);
      if (!flat) return std::move(flat).error();
      std::fill_n(flat->data(), flat->bytes(), std::byte{0});
      for (std::uint32_t k : g.args) copy(part(g, c.args[k], *flat), c.tensors[k]);
      out.push_back(*std::move(flat));
    }
  }
  return out;
}

Result<Tensor> FunctionWrapper::result(const Call& c, std::size_t k, std::span<const Tensor> fresh) const {
  const functional::Place& place = c.form->form.results[k];
  std::span<const ViewOp> views = c.form->views[k];
  Tensor t;
  if (place.is_new) {
    t = fresh[place.ref.base];
  } else {
    const ArgumentGroup& g = c.grouping.groups[place.ref.base];
    t = c.tensors[g.args[0]];
    if (g.flat()) {  // the first view is a place in the flat base
      const ViewOp& v = views.front();
      t = Tensor::over(pointer(g.begin), t.dtype(), Layout{v.dims, v.first, v.offset}, t.storage());
      views = views.subspan(1);
    }
  }
  for (const ViewOp& v : views) {
    Result<Tensor> next = view_of(v, t);
    if (!next) return next;
    t = *std::move(next);
  }
  return t;
}

void FunctionWrapper::write_back(const Call& c, std::span<const Tensor> news) const {
  for (std::size_t k = 0; k < news.size(); ++k) {
    if (!c.form->form.changed[k]) continue;
    const ArgumentGroup& g = c.grouping.groups[c.form->form.written[k]];
    if (g.kind == ArgumentGroup::Kind::Storage) {
      copy(Tensor::over(pointer(g.begin), news[k].dtype(), row_major(std::vector{g.elements})), news[k]);
    } else if (g.flat()) {
      for (std::uint32_t a : g.args)
        if (c.args[a].written) copy(c.tensors[a], part(g, c.args[a], news[k]));
    } else {
      copy(c.tensors[g.args[0]], news[k]);
    }
    for (std::uint32_t a : g.args)
      if (c.args[a].written && c.tensors[a].storage() && c.tensors[a].elements() > 0)
        c.tensors[a].storage()->written(sites_[a]);
  }
}

Result<std::vector<Tensor>> FunctionWrapper::call(EagerRun& run, std::span<const Tensor> globals,
                                                  std::vector<Tensor> inputs) {
  Call c;
  for (std::int64_t g : globals_) c.tensors.push_back(globals[static_cast<std::size_t>(g)]);
  c.tensors.insert(c.tensors.end(), inputs.begin(), inputs.end());
  c.args = arguments(c.tensors);
  if (Status s = find_form(c); !s) return std::move(s).error();
  if (!c.form || !c.form->code) return run.call(*as_written_, std::move(inputs));
  Result<std::vector<Tensor>> bases = bases_of(c);
  if (!bases) return bases;
  Result<std::vector<Tensor>> values = run.call(*c.form->code, *std::move(bases));
  if (!values) return values;
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < c.form->form.results.size(); ++k) {
    Result<Tensor> t = result(c, k, *values);
    if (!t) return std::move(t).error();
    out.push_back(*std::move(t));
  }
  write_back(c, std::span<const Tensor>(*values).subspan(c.form->form.fresh));
  return out;
}

}  // namespace tfvm
