// Control flow: a callee's parameters are the operands' types, its results the types that the op promises.
#include <algorithm>

#include "bytecode/infer/steps.h"
#include "bytecode/nested_types.h"

namespace tfvm {

namespace {
using Types = std::span<const TypeId>;

std::string list(const InferCtx& c, Types types) {
  std::string s = "(";
  for (std::size_t k = 0; k < types.size(); ++k) s += (k ? ", " : "") + c.t.types.text(types[k]);
  return s + ")";
}

std::string called(const InferCtx& c, FunctionId f) {
  const std::string s = f.debug == kNone<DebugId> ? "" : c.t.debugs.function_name(f.debug, c.t.strings);
  return s.empty() ? "the callee" : s;
}

bool check_params(InferCtx& c, FunctionId f, Types args) {
  const Types params = c.t.body(f).param_types();
  return std::ranges::equal(params, args) ||
         c.fail("expected " + called(c, f) + " of " + list(c, args) + ", got parameters " + list(c, params));
}

bool check_results(InferCtx& c, FunctionId f, Types wanted) {
  const std::vector<TypeId> results = c.t.body(f).result_types();
  return std::ranges::equal(results, wanted) ||
         c.fail("expected " + called(c, f) + " to give " + list(c, wanted) + ", got " + list(c, results));
}

// The carries first, then `more` results of any type.
bool check_carries(InferCtx& c, FunctionId body, Types carries, std::size_t more) {
  const std::vector<TypeId> results = c.t.body(body).result_types();
  if (results.size() == carries.size() + more && std::ranges::equal(Types(results).first(carries.size()), carries))
    return true;
  if (more == 0) return check_results(c, body, carries);
  return c.fail("expected " + called(c, body) + " to give the carries " + list(c, carries) + " and " +
                std::to_string(more) + " more, got " + list(c, results));
}

std::vector<TypeId> joined(Types a, Types b) {
  std::vector<TypeId> out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

bool check_scalar(InferCtx& c, std::string_view what) {
  return c.dims(0).empty() || infer::expect(c, "a scalar " + std::string(what));
}

// Counts of operands that lead: not negative, and no more than there are.
bool check_counts(InferCtx& c, std::initializer_list<Key> keys) {
  std::size_t sum = 0;
  for (Key k : keys) {
    const std::int64_t n = c.get_int(k);
    sum += n < 0 ? c.in.size() + 1 : std::min(infer::at(n), c.in.size() + 1);
    if (sum > c.in.size())
      return c.fail("expected " + std::string(c.t.strings[k]) + " within the " + std::to_string(c.in.size()) +
                    " operands, got " + std::to_string(n));
  }
  return true;
}
}  // namespace

bool infer_call(InferCtx& c) {
  const FunctionId f = c.t.attrs.get_func(c.attrs, Key::callee);
  c.out = c.t.body(f).result_types();
  return check_params(c, f, c.in);
}

bool infer_cond(InferCtx& c) {
  const FunctionId yes = c.t.attrs.get_func(c.attrs, Key::then), no = c.t.attrs.get_func(c.attrs, Key::else_);
  c.out = c.t.body(yes).result_types();
  return check_scalar(c, "predicate") && check_params(c, yes, c.in.subspan(1)) &&
         check_params(c, no, c.in.subspan(1)) && check_results(c, no, c.out);
}

bool infer_switch(InferCtx& c) {
  const Attr branches = c.t.attrs[c.t.attrs.get(c.attrs, Key::branches)];
  if (branches.kind != AttrKind::List || branches.items.empty()) return c.fail("expected at least one branch");
  if (!check_scalar(c, "index")) return false;
  for (AttrId id : branches.items) {
    if (c.t.attrs[id].kind != AttrKind::Func) return c.fail("expected branches as functions");
    const FunctionId f = c.t.attrs[id].func;
    if (!check_params(c, f, c.in.subspan(1))) return false;
    if (id == branches.items.front())
      c.out = c.t.body(f).result_types();
    else if (!check_results(c, f, c.out))
      return false;
  }
  return true;
}

bool infer_while(InferCtx& c) {
  if (!check_counts(c, {Key::cond_consts, Key::body_consts})) return false;
  const std::size_t k = infer::at(c.get_int(Key::cond_consts)), b = infer::at(c.get_int(Key::body_consts));
  const FunctionId cond = c.t.attrs.get_func(c.attrs, Key::cond), body = c.t.attrs.get_func(c.attrs, Key::body);
  const Types carries = c.in.subspan(k + b);
  const TypeId predicate = c.t.types.scalar(DType::Bool);
  std::vector<TypeId> results = c.t.body(body).result_types();
  const std::int64_t tapes = c.get_int(Key::tapes);
  if (tapes < 0 || static_cast<std::size_t>(tapes) > results.size())
    return c.fail("expected tapes as a count of results");
  if (!check_params(c, cond, joined(c.in.first(k), carries)) || !check_results(c, cond, {&predicate, 1}) ||
      !check_params(c, body, joined(c.in.subspan(k, b), carries)) || !check_carries(c, body, carries, infer::at(tapes)))
    return false;
  c.out.assign(carries.begin(), carries.end());
  for (TypeId step : Types(results).subspan(carries.size())) c.out.push_back(recorded_type(c.t.types, step));
  return true;
}

namespace {
// The number of steps: given, or the leading size of the scanned inputs; they must agree.
bool scan_length(InferCtx& c, std::size_t first_x) {
  for (std::size_t k = first_x; k < c.in.size(); ++k) {
    const std::optional<std::int64_t> n = leading_size(c.t.types, c.in[k]);
    if (!n) return infer::expect(c, "scanned inputs with a leading dim");
    if (!c.has(Key::length)) c.set(Key::length, *n);
    if (*n != c.get_int(Key::length))
      return c.fail("expected scanned inputs of length " + std::to_string(c.get_int(Key::length)) + ", got " +
                    c.t.types.text(c.in[k]));
  }
  if (!c.has(Key::length)) return c.fail("expected length where nothing is scanned, got none");
  return c.get_int(Key::length) >= 0 ||
         c.fail("expected a length of at least 0, got " + std::to_string(c.get_int(Key::length)));
}

// The body takes `params` and gives the carries first; what it gives beyond them.
bool scan_body(InferCtx& c, Types params, Types carries, std::vector<TypeId>& rest) {
  const FunctionId body = c.t.attrs.get_func(c.attrs, Key::body);
  if (!check_params(c, body, params)) return false;
  const std::vector<TypeId> results = c.t.body(body).result_types();
  if (results.size() < carries.size() || !std::ranges::equal(Types(results).first(carries.size()), carries))
    return c.fail("expected " + called(c, body) + " to give the carries " + list(c, carries) + " first, got " +
                  list(c, results));
  c.out.assign(carries.begin(), carries.end());
  rest.assign(results.begin() + static_cast<std::ptrdiff_t>(carries.size()), results.end());
  return true;
}
}  // namespace

bool infer_scan(InferCtx& c) {
  if (!check_counts(c, {Key::consts, Key::carry})) return false;
  const std::size_t consts = infer::at(c.get_int(Key::consts)), carry = infer::at(c.get_int(Key::carry));
  if (!scan_length(c, consts + carry)) return false;
  if (c.get_int(Key::unroll) < 1) return c.fail("expected unroll of at least 1");
  std::vector<TypeId> params(c.in.begin(), c.in.begin() + static_cast<std::ptrdiff_t>(consts + carry)), rest;
  for (std::size_t k = consts + carry; k < c.in.size(); ++k) params.push_back(step_type(c.t.types, c.in[k]));
  if (!scan_body(c, params, c.in.subspan(consts, carry), rest)) return false;
  for (TypeId step : rest) {
    const std::optional<TypeId> stacked = stacked_type(c.t.types, step, c.get_int(Key::length));
    if (!stacked)
      return c.fail("expected results that fit into memory, got " + std::to_string(c.get_int(Key::length)) + " times " +
                    c.t.types.text(step));
    c.out.push_back(*stacked);
  }
  return true;
}

bool infer_tape_scan(InferCtx& c) {
  if (!check_scalar(c, "count of trips") || !check_counts(c, {Key::consts, Key::carry})) return false;
  const std::size_t consts = infer::at(c.get_int(Key::consts)), carry = infer::at(c.get_int(Key::carry));
  const Types args = c.in.subspan(1);
  if (consts + carry > args.size()) return infer::expect(c, "as many operands as consts and carry say");
  std::vector<TypeId> params(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(consts + carry)), rest;
  for (TypeId tape : args.subspan(consts + carry)) {
    const std::optional<TypeId> record = record_type(c.t.types, tape);
    if (!record) return infer::expect(c, "scanned inputs that are tapes");
    params.push_back(*record);
  }
  if (!scan_body(c, params, args.subspan(consts, carry), rest)) return false;
  for (TypeId step : rest) c.out.push_back(recorded_type(c.t.types, step));
  return true;
}

}  // namespace tfvm
