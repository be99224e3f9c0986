// The Builder of the C API. It writes the function as a text of the language, so a host can make whatever the language
// has, and the text is what errors point to.
#include <fmt/format.h>

#include "bytecode/text/parse.h"
#include "vm/capi/handles.h"

struct tfvm_builder {
  std::shared_ptr<tfvm::VM> vm;
  std::string name, params, body, text;
  tfvm_ref values = 0;
  bool has_body = false, finished = false, failed = false;
  tfvm_status code = TFVM_OK;  // of the first error
  std::string message;
};

namespace {

using namespace tfvm;
using capi::guarded;
using capi::misuse;

tfvm_ref refuse(tfvm_builder& b, tfvm_status code, std::string message) {
  if (!b.failed) {
    b.failed = true;
    b.code = code;
    b.message = std::move(message);
  }
  return -1;
}

// One step of a builder: nothing is thrown, and nothing done after an error.
template <class Step>
tfvm_ref step(tfvm_builder* b, Step body) noexcept {
  if (!b || b->failed) return -1;
  try {
    if (b->finished) return refuse(*b, TFVM_MISUSE, "the builder has been finished");
    return body(*b);
  } catch (...) {
    b->failed = true;
    b->code = TFVM_MEMORY;
    return -1;
  }
}

std::string name_of(tfvm_ref v) { return fmt::format("%v{}", v); }

bool is_known(const tfvm_builder& b, tfvm_ref v) { return v >= 0 && v < b.values; }

// The statement with its operands put in; nullopt after refuse().
std::optional<std::string> filled(tfvm_builder& b, std::string_view s, const tfvm_ref* operands, std::size_t count) {
  std::string out;
  bool quoted = false;
  for (std::size_t k = 0; k < s.size(); ++k) {
    if (s[k] == '\n') {
      refuse(b, TFVM_MISUSE, "a statement is one line");
      return std::nullopt;
    }
    if (s[k] == '"' && (k == 0 || s[k - 1] != '\\')) quoted = !quoted;
    if (s[k] != '$' || quoted) {
      out += s[k];
      continue;
    }
    std::size_t n = 0, digits = 0;
    for (; k + 1 < s.size() && s[k + 1] >= '0' && s[k + 1] <= '9' && digits < 6; ++k, ++digits)
      n = 10 * n + static_cast<std::size_t>(s[k + 1] - '0');
    if (digits == 0 || n >= count) {
      refuse(b, TFVM_MISUSE, fmt::format("'{}' names operand {}, there are {}", s, n, count));
      return std::nullopt;
    }
    if (!is_known(b, operands[n])) {
      refuse(b, TFVM_MISUSE, fmt::format("operand {} of '{}' is no value of this function", n, s));
      return std::nullopt;
    }
    out += name_of(operands[n]);
  }
  return out;
}

// Adds a line with `results` new values; gives the first.
tfvm_ref add_line(tfvm_builder& b, std::string_view statement, std::size_t results) {
  const tfvm_ref first = b.values;
  std::string line = "  ";
  for (std::size_t k = 0; k < results; ++k)
    line += (k ? ", " : "") + name_of(static_cast<tfvm_ref>(first + static_cast<tfvm_ref>(k)));
  if (results > 0) line += " = ";
  b.body += line.append(statement) + '\n';
  b.values += static_cast<tfvm_ref>(results);
  b.has_body = true;
  return first;
}

std::string type_text_of(const Tensor& t) { return type_text(t.dtype(), t.dims()); }

// clone hex"…" : f32[2,3], the elements as they stand in memory.
std::string constant_text(const Tensor& t) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes()));
  t.copy_to(bytes);
  std::string hex;
  for (std::byte x : bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(x));
  return t.elements() == 0 ? fmt::format("clone [] : {}", type_text_of(t))
                           : fmt::format("clone hex\"{}\" : {}", hex, type_text_of(t));
}

std::string whole(const tfvm_builder& b) { return fmt::format("func @{}({}) {{\n{}}}\n", b.name, b.params, b.body); }

}  // namespace

extern "C" {

tfvm_status tfvm_builder_create(tfvm_vm* vm, const char* name, tfvm_builder** builder, tfvm_error* error) noexcept {
  if (!vm || !name || !builder) return misuse(error, "a VM, a name and a place for the builder are needed");
  return guarded(error, [&]() -> tfvm_status {
    auto b = std::make_unique<tfvm_builder>();
    b->vm = vm->vm;
    b->name = name;
    *builder = b.release();
    return TFVM_OK;
  });
}

void tfvm_builder_release(tfvm_builder* builder) noexcept { delete builder; }

tfvm_ref tfvm_build_param(tfvm_builder* builder, const char* type) noexcept {
  return step(builder, [&](tfvm_builder& b) {
    if (b.has_body) return refuse(b, TFVM_MISUSE, "parameters come before the first statement");
    b.params += (b.values ? ", " : "") + name_of(b.values);
    if (type) b.params += std::string(": ") + type;
    return b.values++;
  });
}

tfvm_ref tfvm_build_constant(tfvm_builder* builder, const tfvm_view* value) noexcept {
  return step(builder, [&](tfvm_builder& b) {
    if (!value) return refuse(b, TFVM_MISUSE, "a constant needs a view");
    const Result<Tensor> t = capi::tensor_over(*value);
    if (!t) return refuse(b, capi::status_of(t.error().code), t.error().message);
    return add_line(b, constant_text(*t), 1);
  });
}

tfvm_ref tfvm_build_op(tfvm_builder* builder, const char* op, const tfvm_ref* operands, size_t count,
                       const char* attributes) noexcept {
  return step(builder, [&](tfvm_builder& b) {
    if (!op || (!operands && count > 0)) return refuse(b, TFVM_MISUSE, "an op and its operands are needed");
    const std::string name = op;
    const bool is_call = name.starts_with("call ");
    std::string s = name + (is_call ? "(" : " ");
    for (std::size_t k = 0; k < count; ++k) s += fmt::format("{}${}", k ? ", " : "", k);
    if (is_call) s += ")";
    if (attributes && *attributes) s += fmt::format(" {{{}}}", attributes);
    const auto text = filled(b, s, operands, count);
    return text ? add_line(b, *text, 1) : -1;
  });
}

void tfvm_build_statement(tfvm_builder* builder, const char* statement, const tfvm_ref* operands, size_t count,
                          tfvm_ref* results, size_t result_count) noexcept {
  tfvm_ref first = step(builder, [&](tfvm_builder& b) {
    if (!statement || (!operands && count > 0))
      return refuse(b, TFVM_MISUSE, "a statement and its operands are needed");
    const auto text = filled(b, statement, operands, count);
    return text ? add_line(b, *text, result_count) : -1;
  });
  if (results)
    for (std::size_t k = 0; k < result_count; ++k) results[k] = first < 0 ? -1 : first++;
}

tfvm_status tfvm_builder_finish(tfvm_builder* builder, const tfvm_ref* results, size_t count,
                                tfvm_error* error) noexcept {
  if (!builder || (!results && count > 0)) return misuse(error, "a builder and its results are needed");
  step(builder, [&](tfvm_builder& b) {
    std::string ret = "ret";
    for (std::size_t k = 0; k < count; ++k) {
      if (!is_known(b, results[k])) return refuse(b, TFVM_MISUSE, "a result is no value of this function");
      ret += (k ? ", " : " ") + name_of(results[k]);
    }
    add_line(b, ret, 0);
    return 0;
  });
  builder->finished = true;
  if (builder->failed) return capi::fail(error, builder->code, builder->message);
  return guarded(error, [&]() -> tfvm_status {
    const Status s = builder->vm->load_text(whole(*builder), builder->name);
    return s ? TFVM_OK : capi::fail(error, s.error(), *builder->vm);
  });
}

const char* tfvm_builder_text(const tfvm_builder* builder) noexcept {
  if (!builder) return "";
  try {
    auto& b = const_cast<tfvm_builder&>(*builder);  // a cache
    b.text = whole(b);
    return b.text.c_str();
  } catch (...) {
    return "";
  }
}

}  // extern "C"
