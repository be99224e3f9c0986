// Blocks and statements of .tfbc, and its container.

#include "bytecode/binary/reader.h"
#include "bytecode/binary/tfbc.h"
#include "bytecode/hash.h"
#include "bytecode/text/words.h"

namespace tfvm {
namespace tfbc {

std::uint32_t Reader::block(Where where) {
  if (!enter()) return 0;
  const std::size_t mark = stmt_stack_.size();
  const std::uint32_t n = code_.count();
  for (std::uint32_t k = 0; k < n && !failed(); ++k) {
    const Stmt s = stmt(where);
    if ((s.kind == StmtKind::Ret || s.kind == StmtKind::Yield) && k + 1 < n)
      fail("a statement behind the end of its block");
    stmt_stack_.push_back(s);
  }
  const Block b{{static_cast<std::uint32_t>(m_.stmts.size()), static_cast<std::uint32_t>(stmt_stack_.size() - mark)}};
  m_.stmts.insert(m_.stmts.end(), stmt_stack_.begin() + static_cast<std::ptrdiff_t>(mark), stmt_stack_.end());
  stmt_stack_.resize(mark);
  m_.blocks.push_back(b);
  leave();
  return static_cast<std::uint32_t>(m_.blocks.size() - 1);
}

std::uint32_t Reader::block_in_scope() {
  const std::size_t mark = scopes_.mark();
  const std::uint32_t at = block(Where::Block);
  scopes_.restore(mark);
  return at;
}

Stmt Reader::stmt(Where where) {
  Stmt s;
  s.place = place();
  s.kind = static_cast<StmtKind>(code_.choice(static_cast<std::size_t>(StmtKind::ExpectError) + 1, "statement"));
  const bool is_loop =
      s.kind == StmtKind::For || ((s.kind == StmtKind::While || s.kind == StmtKind::Scan) && code_.flag());
  Control c;
  if (failed()) return s;
  if (s.kind == StmtKind::ExpectError) {
    c.inner = expected_to_fail(s, where);
  } else if (is_loop) {
    loop(s, c);
    results(s);
  } else {
    operands_of(s);
    if (s.kind == StmtKind::Ret || s.kind == StmtKind::Yield) {
      if (where != (s.kind == StmtKind::Ret ? Where::Function : Where::Block)) fail("ret or yield in the wrong place");
      s.first_local = scopes_.count();
      return s;
    }
    s.attrs = attrs();
    if (s.kind == StmtKind::If)
      for (std::uint32_t& b : c.blocks) b = block_in_scope();
    results(s);
  }
  if (s.kind == StmtKind::ExpectError || s.kind == StmtKind::If || is_loop) {
    s.control = static_cast<std::uint32_t>(m_.controls.size());
    m_.controls.push_back(c);
  }
  return s;
}

std::uint32_t Reader::expected_to_fail(Stmt& s, Where where) {
  s.op = string();
  if (!enter()) return 0;
  const std::size_t mark = scopes_.mark();
  const Stmt inner = stmt(where);
  scopes_.restore(mark);
  leave();
  s.first_local = scopes_.count();
  m_.stmts.push_back(inner);
  return static_cast<std::uint32_t>(m_.stmts.size() - 1);
}

// Written types, and the names of the results.
void Reader::results(Stmt& s) {
  s.has_types = code_.flag();
  if (s.has_types) {
    const std::vector<TypePattern> list = types();
    s.types = {static_cast<std::uint32_t>(m_.types.size()), static_cast<std::uint32_t>(list.size())};
    m_.types.insert(m_.types.end(), list.begin(), list.end());
  }
  s.first_local = scopes_.count();
  s.results = {static_cast<std::uint32_t>(m_.result_names.size()), code_.count()};
  for (std::uint32_t k = 0; k < s.results.count && !failed(); ++k) {
    (void)code_.choice(1, "flag of a result");
    define(local_name());
    m_.result_names.push_back(local_names_.back());
  }
}

void Reader::operands_of(Stmt& s) {
  if (s.kind == StmtKind::Op) {
    s.op = key_string("name of an op");
    if (!failed() && is_statement_word(strings_[s.op])) fail("a malformed name of an op");
  }
  s.operands = operands();
  if (s.kind != StmtKind::Op && s.kind != StmtKind::Ret && s.kind != StmtKind::If) s.args = operands();
  if (failed()) return;
  const auto list = Module::at(m_.operands, s.operands);
  const auto is = [&](std::size_t k, OperandKind kind) { return k < list.size() && list[k].kind == kind; };
  const bool two = list.size() == 2;
  bool good = true;
  switch (s.kind) {
    case StmtKind::Op:  // grad (…) would be taken for a function
      good = !is_transform(strings_[s.op]) || !is(0, OperandKind::Computed);
      break;
    case StmtKind::If:
      good = list.size() == 1;
      break;
    case StmtKind::Call:
    case StmtKind::Scan:
    case StmtKind::Checkpoint:
      good = list.size() == 1 && is(0, OperandKind::Callee);
      break;
    case StmtKind::Cond:
      good = list.size() == 3 && is(1, OperandKind::Callee) && is(2, OperandKind::Callee);
      break;
    case StmtKind::Switch:
      good = two && is(1, OperandKind::CalleeList);
      break;
    case StmtKind::While:
      good = two && is(0, OperandKind::Callee) && is(1, OperandKind::Callee);
      break;
    default:
      break;
  }
  if (!good) fail("operands that do not fit their statement");
}

void Reader::loop(Stmt& s, Control& c) {
  c.carries = binds();
  c.inputs = {static_cast<std::uint32_t>(m_.binds.size()), 0};
  if (s.kind != StmtKind::While) c.inputs = binds();
  // Names come behind all operands: those are evaluated outside.
  std::vector<StrId> names;
  for (std::uint32_t k = 0; k < c.carries.count + c.inputs.count && !failed(); ++k) names.push_back(local_name());
  s.attrs = attrs();
  const std::size_t mark = scopes_.mark();
  for (std::size_t k = 0; k < names.size() && !failed(); ++k) {
    Bind& b = m_.binds[c.carries.begin + k];
    b.local = scopes_.count();
    define(names[k]);
    b.name = local_names_.back();
  }
  if (s.kind != StmtKind::While) {
    c.step_local = scopes_.count();
    define(strings_.intern("scan.i"));
  }
  c.blocks[0] = block_in_scope();
  if (s.kind == StmtKind::While) c.blocks[1] = block_in_scope();
  scopes_.restore(mark);
}

Range Reader::binds() {
  const Range r{static_cast<std::uint32_t>(m_.binds.size()), code_.count()};
  for (std::uint32_t k = 0; k < r.count && !failed(); ++k) {
    const Operand o = operand();
    m_.binds.push_back({kNone<StrId>, 0, static_cast<std::uint32_t>(m_.operands.size()), place_});
    m_.operands.push_back(o);
  }
  return r;
}

namespace {

Error malformed(StringTable& strings, std::string_view file, std::string what) {
  return {Code::Syntax, "not a well-formed .tfbc file: " + std::move(what), {strings.intern(file), 0, 0}};
}

struct Sections {
  std::span<const std::byte> code, debug;
  std::string error;
};

Sections split(std::span<const std::byte> bytes) {
  Sections s;
  if (!is_tfbc(bytes) || bytes.size() < kHeaderBytes) return s.error = "it does not begin with TFBC", s;
  if (const auto version = load<std::uint32_t>(bytes, 4); version != kVersion) {
    s.error = "it has version " + std::to_string(version) + "; this program reads version " + std::to_string(kVersion);
    return s;
  }
  std::size_t at = kHeaderBytes;
  for (const Section expected : {Section::Code, Section::Debug}) {
    if (at == bytes.size() && expected == Section::Debug) break;
    const std::string place = " at byte " + std::to_string(at);
    if (bytes.size() - at < kSectionBytes) return s.error = "it ends too early," + place, s;
    const auto kind = load<std::uint32_t>(bytes, at);
    const auto size = load<std::uint64_t>(bytes, at + 4);
    if (kind != static_cast<std::uint32_t>(expected)) return s.error = "unknown section" + place, s;
    if (size > bytes.size() - at - kSectionBytes) return s.error = "a section larger than the file," + place, s;
    const auto payload = bytes.subspan(at + kSectionBytes, size);
    if (load<std::uint64_t>(bytes, at + 12) != hash_span(payload))
      return s.error = "its bytes do not have their hash: section" + place, s;
    (expected == Section::Code ? s.code : s.debug) = payload;
    at += kSectionBytes + size;
    if (expected == Section::Debug && payload.empty()) return s.error = "an empty debug section", s;
  }
  if (at != bytes.size()) s.error = "bytes behind its end, at byte " + std::to_string(at);
  return s;
}

}  // namespace
}  // namespace tfbc

bool is_tfbc(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), tfbc::kMagic.data(), 4) == 0;
}

Result<Module> read_sections(StringTable& strings, std::span<const std::byte> code, std::span<const std::byte> debug,
                             std::string_view file) {
  return tfbc::Reader(strings, code, debug, file).read();
}

Result<Module> read_tfbc(StringTable& strings, std::span<const std::byte> bytes, std::string_view file) {
  const tfbc::Sections s = tfbc::split(bytes);
  if (!s.error.empty()) return tfbc::malformed(strings, file, s.error);
  return read_sections(strings, s.code, s.debug, file);
}

std::span<const std::byte> code_section(std::span<const std::byte> bytes) {
  const tfbc::Sections s = tfbc::split(bytes);
  return s.error.empty() ? s.code : std::span<const std::byte>{};
}

}  // namespace tfvm
