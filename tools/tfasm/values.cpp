#include "tools/tfasm/values.h"

#include <string_view>

#include <fmt/format.h>

#include "vm/npy/npy.h"
#include "vm/type_text.h"

namespace tfvm::tool {

namespace {

bool has_type(std::string_view literal) { return parse_dtype(leading_word(trim(literal))).has_value(); }

Error about(Error e, std::string_view text) {
  constexpr std::size_t kShown = 60;
  if (e.loc.line != 0) e.message = fmt::format("column {} of the literal: {}", e.loc.col, e.message);
  e.loc = {};
  return std::move(e).note(
      fmt::format("in the argument {}{}", text.substr(0, kShown), text.size() > kShown ? "…" : ""));
}

// A literal whose dtype is not known yet is left out: an empty list.
Result<std::vector<Value>> read_typed(VM& vm, const std::string& text) {
  std::vector<Value> values;
  if (text.ends_with(".npz")) {
    Result<NamedTensors> all = read_npz(text, vm.budget());
    if (!all) return std::move(all).error();
    for (auto& [name, t] : *all) values.push_back(vm.value(std::move(t)));
  } else if (text.ends_with(".npy")) {
    Result<Tensor> t = read_npy(text, vm.budget());
    if (!t) return std::move(t).error();
    values.push_back(vm.value(*std::move(t)));
  } else if (has_type(text)) {
    Result<Tensor> t = parse_tensor(text, vm.budget());
    if (!t) return about(std::move(t).error(), text);
    values.push_back(vm.value(*std::move(t)));
  }
  return values;
}

Result<Value> read_literal(VM& vm, const std::string& text, std::optional<DType> dtype) {
  Result<Tensor> t = parse_tensor(text, vm.budget());
  if (t && dtype && *dtype != t->dtype()) {
    const std::vector<std::int64_t> dims(t->dims().begin(), t->dims().end());
    t = parse_tensor_as(text, *dtype, dims, vm.budget());
  }
  if (!t) return about(std::move(t).error(), text);
  return vm.value(*std::move(t));
}

bool is_tensor(VM& vm, const Value& v) {
  const std::lock_guard guard(vm.lock());
  return vm.tables().types[v.type].is_tensor();
}

}  // namespace

Result<ParsedCallee> parse_function(VM& vm, const std::string& text) {
  Result<ParsedCallee> parsed = parse_callee(vm.tables().strings, text);
  if (parsed) return parsed;
  Error e = std::move(parsed).error();
  e.message = fmt::format("'{}' is no function: {}", text, e.message);
  e.loc = {};
  if (vm.program().module().find(vm.tables().strings.intern(text)))
    e.message += fmt::format("; did you mean @{}?", text);
  return e;
}

Result<Callee*> find_function(VM& vm, const std::string& text) {
  const std::lock_guard guard(vm.lock());
  Result<ParsedCallee> parsed = parse_function(vm, text);
  if (!parsed) return std::move(parsed).error();
  const CalleeExpr& e = parsed->pools.callees[parsed->callee];
  if (!e.is_transform() && e.attrs.empty()) return vm.program().function(vm.tables().strings[e.name]);
  return vm.program().callee(parsed->pools, parsed->callee);
}

Result<Function> entry_for(VM& vm, const std::string& function, const std::string& args) {
  Result<std::vector<TypeId>> types = std::vector<TypeId>();
  if (args.empty()) {
    types = vm.fixed_types(function);
    if (!types) return std::move(types).error().note("--args gives the types of the arguments");
  } else {
    const std::lock_guard guard(vm.lock());
    types = parse_types(vm.tables().types, args);
    if (!types) return std::move(types).error();
  }
  return vm.entry(function, *types);
}

Result<Function> prepare(VM& vm, Callee& f, std::span<const TypeId> types) {
  std::unique_lock guard(vm.lock());
  const Result<Step> step = vm.program().entry(f, types);
  if (!step) return step.error();
  guard.unlock();
  return vm.prepare(*step);
}

Result<std::vector<Value>> read_arguments(VM& vm, Callee& f, const std::vector<std::string>& texts) {
  std::vector<Value> values;
  std::vector<TypeId> types;
  std::vector<const std::string*> open;  // the literal of each value that has no type yet
  for (const std::string& text : texts) {
    Result<std::vector<Value>> typed = read_typed(vm, text);
    if (!typed) return std::move(typed).error();
    const bool is_file = text.ends_with(".npz") || text.ends_with(".npy");
    if (typed->empty() && !is_file) typed->emplace_back();
    for (Value& v : *typed) {
      types.push_back(v.type);
      open.push_back(v.leaves.empty() ? &text : nullptr);
      values.push_back(std::move(v));
    }
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!open[k]) continue;
    std::optional<DType> dtype;
    {
      const std::lock_guard guard(vm.lock());
      dtype = f.hint(types, k);
    }
    Result<Value> v = read_literal(vm, *open[k], dtype);
    if (!v) return std::move(v).error();
    types[k] = v->type;
    values[k] = *std::move(v);
  }
  return values;
}

Result<std::size_t> write_results(VM& vm, const std::vector<std::string>& files, std::span<const Value> results) {
  std::size_t written = 0;
  for (const std::string& file : files) {
    if (written == results.size())
      return Error(Code::Type, fmt::format("'{}': all {} results are written already", file, results.size()));
    const bool archive = file.ends_with(".npz");
    NamedTensors tensors;
    do {
      const Value& v = results[written++];
      if (!is_tensor(vm, v)) return Error(Code::Type, fmt::format("'{}': a pack can't be written", file));
      tensors.emplace_back(fmt::format("arr_{}", tensors.size()), v.tensor());
    } while (archive && written < results.size());
    if (Status s = archive ? write_npz(file, tensors) : write_npy(file, tensors[0].second); !s)
      return std::move(s).error();
  }
  return written;
}

std::string print_value(VM& vm, const Value& v, const PrintOptions& options) {
  if (is_tensor(vm, v)) return print(v.tensor(), options);
  std::string out = "pack(";
  for (std::size_t k = 0; k < v.leaves.size(); ++k) out += (k ? ", " : "") + v.leaves[k].type_text();
  return out + ")";
}

}  // namespace tfvm::tool
