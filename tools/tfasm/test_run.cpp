#include "tools/tfasm/test_run.h"

#include <fmt/format.h>

#include "bytecode/elaborate/eval.h"
#include "bytecode/verify.h"
#include "tools/tfasm/compare.h"
#include "tools/tfasm/files.h"

namespace tfvm::tool {

namespace {

std::string whole_message(const Error& e) {
  std::string text = e.message;
  for (const std::string& note : e.notes) text += "\n  note: " + note;
  return text;
}

}  // namespace

Failure failure_of(VM& vm, const Error& e, std::string file, std::string test) {
  const std::lock_guard guard(vm.lock());
  std::string shown = error_text(e, vm.tables().strings);
  if (!test.empty()) shown += fmt::format("note: in the test \"{}\" of {}\n", test, file);
  return {std::move(file), std::move(test), e.loc.line, whole_message(e), std::move(shown)};
}

VerifyEach::VerifyEach(VM& vm) : vm_(vm), nameless_(vm.tables().debugs.add({})) {}

Status VerifyEach::run() {
  const std::lock_guard guard(vm_.lock());
  for (Tables& t = vm_.tables(); done_ < t.bodies.size(); ++done_)
    if (t.bodies.has(static_cast<BodyId>(done_)))
      if (Status s = verify(t, {static_cast<BodyId>(done_), nameless_}); !s) return s;
  return ok();
}

void TestRun::fail(Error e, Loc where) {
  if (e.loc.line == 0) e.loc = where;
  const StringTable& strings = vm_.tables().strings;
  const bool elsewhere = e.loc.file != test_.loc.file || e.loc.line != where.line;
  Failure f = failure_of(vm_, e, file_, std::string(strings[test_.name]));
  if (elsewhere && e.loc.file != kNone<StrId>)
    f.message += fmt::format("\n  note: at {}:{}:{}", strings[e.loc.file], e.loc.line, e.loc.col);
  f.line = where.line;
  verdict_.failures.push_back(std::move(f));
}

Verdict TestRun::run(Tier tier) {
  if (is_skipped(tier)) {
    verdict_.skipped = verdict_.failures.empty();
    return std::move(verdict_);
  }
  vm_.reset_globals();
  const Module& m = vm_.module();
  for (const Stmt& s : Module::at(m.stmts, m.blocks[test_.block].stmts))
    if (!statement(s)) break;
  return std::move(verdict_);
}

bool TestRun::is_skipped(Tier tier) {
  std::unique_lock guard(vm_.lock());
  Tables& t = vm_.tables();
  NamedAttrs none;
  const Result<AttrId> attrs = eval_attrs(t, vm_.module(), test_.attrs, none);
  Error error(Code::Name, "");
  bool skip = tier == Tier::Jit;
  if (attrs) {
    const Attr& dict = t.attrs[*attrs];
    for (std::size_t k = 0; k < dict.keys.size(); ++k) {
      const std::string_view key = t.strings[dict.keys[k]];
      const Attr& value = t.attrs[dict.items[k]];
      const std::string_view text = value.kind == AttrKind::Str ? t.strings[value.str] : std::string_view();
      if (key == "skip" && value.kind == AttrKind::Str)
        skip = true;
      else if (key == "tier" && (text == "interp" || text == "jit" || text == "both"))
        skip = skip || text == "jit";
      else
        error.message =
            fmt::format("a test has the attributes tier=\"interp\"|\"jit\"|\"both\" and skip=\"why\", not {}", key);
    }
  } else {
    error = attrs.error();
  }
  guard.unlock();
  if (!error.message.empty()) fail(std::move(error), test_.loc);
  return skip || !verdict_.failures.empty();
}

bool TestRun::statement(const Stmt& s) {
  if (s.kind == StmtKind::ExpectError) return expect_error(s), true;
  const std::string_view op = s.kind == StmtKind::Op ? vm_.tables().strings[s.op] : std::string_view();
  if (op.starts_with("expect_")) return expect(s), true;
  Status done = execute(s);
  if (!done) fail(std::move(done).error(), loc_of(s));
  return static_cast<bool>(done);
}

Result<std::vector<Value>> TestRun::evaluate(const Step& step) {
  const Result<Function> f = vm_.prepare(step);
  if (verify_)
    if (Status s = verify_->run(); !s) return std::move(s).error();
  if (!f) return f.error();
  std::vector<Value> inputs;
  for (const Local local : step.inputs) inputs.push_back(values_.at(local));
  return vm_.call(context_, *f, inputs);
}

Status TestRun::execute(const Stmt& s) {
  std::unique_lock guard(vm_.lock());
  const Result<Step> step = vm_.program().step(test_, s, [this](Local local) -> std::optional<TypeId> {
    const auto it = values_.find(local);
    return it == values_.end() ? std::nullopt : std::optional(it->second.type);
  });
  guard.unlock();
  if (!step) return step.error();
  Result<std::vector<Value>> results = evaluate(*step);
  if (!results) return std::move(results).error();
  for (std::uint32_t k = 0; k < results->size() && k < s.results.count; ++k) values_[s.first_local + k] = (*results)[k];
  const std::size_t first = results->size() - step->rebound.size();
  for (std::size_t k = 0; k < step->rebound.size(); ++k) values_[step->rebound[k]] = std::move((*results)[first + k]);
  return ok();
}

void TestRun::expect(const Stmt& s) {
  std::unique_lock guard(vm_.lock());
  const Result<Expectation> e = vm_.program().expectation(test_, s, [this](Local local) -> std::optional<TypeId> {
    const auto it = values_.find(local);
    return it == values_.end() ? std::nullopt : std::optional(it->second.type);
  });
  guard.unlock();
  if (!e) return fail(e.error(), loc_of(s));
  Result<std::vector<Value>> operands = evaluate(e->step);
  if (!operands) return fail(std::move(operands).error(), loc_of(s));
  const Result<std::string> difference = compare(*e, *operands);
  if (!difference) return fail(difference.error(), loc_of(s));
  if (difference->empty()) return;
  fail(Error(Code::Assert, fmt::format("{}: {}", vm_.tables().strings[s.op], *difference)), loc_of(s));
}

Result<std::string> TestRun::compare(const Expectation& e, const std::vector<Value>& v) {
  const std::lock_guard guard(vm_.lock());
  const AttrTable& attrs = vm_.tables().attrs;
  const StringTable& strings = vm_.tables().strings;
  for (const Value& value : v)
    if (!vm_.tables().types[value.type].is_tensor()) return Error(Code::Type, "a pack can't be looked into");
  const std::string_view kind = strings[e.kind];
  if (kind == "expect_shape") return compare_shape(v[0].tensor(), attrs.get_ints(e.attrs, Key::shape));
  if (kind == "expect_eq") return compare_equal(v[0].tensor(), v[1].tensor(), attrs.get_bool(e.attrs, Key::bitwise));
  Closeness c;
  c.rtol = attrs[attrs.get(e.attrs, Key::rtol)].f();
  c.atol = attrs[attrs.get(e.attrs, Key::atol)].f();
  c.equal_nan = attrs.get_bool(e.attrs, Key::equal_nan);
  return compare_close(v[0].tensor(), v[1].tensor(), c);
}

void TestRun::expect_error(const Stmt& s) {
  const Module& m = vm_.module();
  const Stmt& inner = m.stmts[m.controls[s.control].inner];
  const std::string part(vm_.tables().strings[s.op]);
  const Status done = execute(inner);
  if (done)
    return fail(Error(Code::Assert, fmt::format("expect_error: no error; expected one with \"{}\"", part)), loc_of(s));
  const std::string message = whole_message(done.error());
  if (message.find(part) != message.npos) return;
  fail(Error(Code::Assert, fmt::format("expect_error: expected an error with \"{}\", got: {}", part, message)),
       loc_of(s));
}

}  // namespace tfvm::tool
