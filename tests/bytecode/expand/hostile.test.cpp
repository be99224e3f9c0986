// Every prim and every expansion with random operands and attributes, sensible or not: a result or one error, never a
// trap, whatever the integers.
#include <random>

#include <gtest/gtest.h>

#include "bytecode/expand/core.h"
#include "tests/bytecode/harness.h"

namespace tfvm {
namespace {

struct Hostile {
  Tables t;
  std::mt19937_64 random;
  FunctionId function;

  explicit Hostile(std::uint64_t seed) : random(seed) {
    Builder b(t, {}, "f");
    const ValueId x = b.param(t.types.scalar(DType::F32));
    function = *b.seal({x});
  }

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }

  std::int64_t integer() {
    constexpr std::int64_t kEdges[] = {std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max(),
                                       std::int64_t{1} << 62,
                                       std::int64_t{1} << 31,
                                       -1000,
                                       1000};
    return below(12) == 0 ? kEdges[below(6)] : below(8) - 2;
  }

  TypeId type() {
    constexpr DType kDTypes[] = {DType::F32, DType::F32, DType::F32, DType::I64, DType::Bool, DType::U32, DType::C64};
    std::vector<std::int64_t> dims(static_cast<std::size_t>(below(4)));
    for (std::int64_t& d : dims) d = below(20) == 0 ? std::int64_t{1} << 30 : below(4);
    if (!checked_elements(dims)) dims.clear();
    return t.types.tensor(kDTypes[below(7)], dims);
  }

  AttrId ints() {
    std::vector<std::int64_t> v(static_cast<std::size_t>(below(4)));
    for (std::int64_t& i : v) i = integer();
    return t.attrs.ints(v);
  }

  AttrId any(int depth) {
    switch (below(6)) {
      case 0:
        return t.attrs.none();
      case 1:
        return t.attrs.of(integer());
      case 2:
        return t.attrs.of(static_cast<double>(integer()) * 0.5);
      case 3:
        return t.attrs.of(function);
      case 4:
        return ints();
      default: {
        std::vector<AttrId> items;
        for (std::int64_t k = below(3); k > 0; --k) items.push_back(depth > 0 ? any(depth - 1) : ints());
        return t.attrs.list(items);
      }
    }
  }

  AttrId value(const AttrSpec& spec) {
    constexpr std::string_view kWords[] = {"", "clip", "fill", "add", "max", "xy", "ij,jk->ik", "...i->i", "->", "ii"};
    switch (spec.type) {
      case AttrType::Int:
        return t.attrs.of(integer());
      case AttrType::Float:
        return t.attrs.of(static_cast<double>(integer()));
      case AttrType::Bool:
        return t.attrs.of(below(2) == 0);
      case AttrType::Str:
        return t.attrs.of(kWords[below(10)]);
      case AttrType::DType:
        return t.attrs.of(static_cast<DType>(below(kDTypes)));
      case AttrType::Ints:
        return ints();
      case AttrType::Func:
        return t.attrs.of(function);
      case AttrType::Any:
        return any(2);
    }
    return t.attrs.none();
  }

  AttrId attributes(std::span<const AttrSpec> row) {
    AttrId d = t.attrs.empty();
    for (const AttrSpec& s : row)
      if (s.required || below(2) == 0) d = t.attrs.with(d, s.key, value(s));
    return d;
  }

  // As many as the row has, of one type more often than not.
  std::vector<ValueId> operands(Builder& b, std::span<const OperandSpec> row) {
    std::vector<ValueId> v;
    const TypeId common = type();
    for (const OperandSpec& s : row) {
      if (s.group == '@') continue;
      const std::int64_t n = s.arity == '*' ? below(4) : s.arity == '?' ? below(2) : 1;
      for (std::int64_t k = 0; k < n; ++k)
        v.push_back(b.param(s.group == 'I' ? t.types.scalar(DType::I64) : below(3) > 0 ? common : type()));
    }
    return v;
  }
};

constexpr int kRounds = 300;

TEST(Hostile, Prims) {
  Hostile h(1);
  for (std::size_t k = 0; k < kOps; ++k) {
    const Op op = static_cast<Op>(k);
    if (op == Op::constant) continue;
    for (int round = 0; round < kRounds; ++round) {
      Builder b(h.t, {});
      const std::vector<ValueId> in = h.operands(b, info(op).operands);
      b.emit(op, in, h.attributes(info(op).attrs));
      EXPECT_NE(b.error().code, Code::Internal) << b.error().message;
    }
  }
}

TEST(Hostile, Expansions) {
  Hostile h(2);
  for (const CoreRow& row : core_rows()) {
    for (int round = 0; round < kRounds; ++round) {
      Builder b(h.t, {});
      const std::vector<ValueId> in = h.operands(b, row.operands);
      const Result<AttrId> attrs = complete_attrs(h.t, row.name, row.attrs, h.attributes(row.attrs));
      if (!attrs) continue;
      ExpandCtx c{b, in, *attrs};
      row.expand(c);
      EXPECT_NE(b.error().code, Code::Internal) << row.name << ": " << b.error().message;
    }
  }
}

}  // namespace
}  // namespace tfvm
