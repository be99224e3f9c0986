// Random full programs as written against the same ones by their functional forms behind the runtime wrapper: results
// and inputs have the same bits, on inputs apart and on inputs that lie in one storage in random ways.
//
// TFVM_ALIAS_PROGRAMS sets how many, TFVM_SEED which.

#include <cstdlib>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/fuzz/alias_program.h"
#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm::test {
namespace {

using Tensors = std::vector<Tensor>;

void add_ops(VM& vm) {
  CustomOp two, sum;
  two.kernel = [](std::span<const CustomArg> args, std::span<const Tensor>) -> Status {
    for (std::int64_t k = 0; k < args[0]->elements(); ++k) args[0]->as<double>()[k] *= 0.5;
    for (std::int64_t k = 0; k < args[1]->elements(); ++k) args[1]->as<double>()[k] += 1;
    return ok();
  };
  sum.kernel = [](std::span<const CustomArg> args, std::span<const Tensor> results) -> Status {
    double s = 0;
    for (std::int64_t k = 0; k < args[0]->elements(); ++k) s += args[0]->as<double>()[k];
    *results[0].as<double>() = s;
    return ok();
  };
  vm.register_op("fz.two", std::move(two));
  vm.register_op("fz.sum", std::move(sum));
}

struct Outcome {
  bool failed = false;
  std::string error;
  Tensors out;  // results, then the storages of the inputs
};

Outcome call(VM& vm, const std::string& name, const Tensors& in, const Tensors& storages) {
  std::vector<TypeId> types;
  for (const Tensor& t : in) types.push_back(vm.type_of(t));
  const Result<Function> f = vm.entry(name, types);
  if (!f) return {true, f.error().message, {}};
  Context context(vm.budget());
  Result<Tensors> out = vm.call(context, *f, in);
  if (!out) return {true, out.error().message, {}};
  Outcome o;
  for (const Tensor& t : *out) o.out.push_back(*t.clone({}));
  o.out.insert(o.out.end(), storages.begin(), storages.end());
  return o;
}

// Places of the inputs: each in a storage of its own, or all somewhere in one.
struct Places {
  std::vector<std::size_t> storage;
  std::vector<Layout> layouts;
  std::vector<std::int64_t> sizes;  // of the storages
};

Places apart(const AliasProgram& p) {
  Places out;
  for (const auto& dims : p.inputs) {
    out.storage.push_back(out.sizes.size());
    out.layouts.push_back(row_major(dims));
    out.sizes.push_back(out.layouts.back().elements());
  }
  return out;
}

Places together(const AliasProgram& p, std::mt19937_64& rng) {
  Places out;
  std::int64_t most = 1;
  for (const auto& dims : p.inputs) most = std::max(most, row_major(dims).elements());
  out.sizes.push_back(2 * most);
  for (const auto& dims : p.inputs) {
    Layout y = row_major(dims);
    const std::int64_t room = 2 * most - y.elements();
    y.offset = rng() % 3 == 0 ? 0 : static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(room + 1));
    if (y.rank() == 2 && rng() % 3 == 0) y.strides = {1, y.dims[0]};
    out.storage.push_back(0);
    out.layouts.push_back(std::move(y));
  }
  return out;
}

Outcome run(VM& vm, const AliasProgram& p, const Places& places, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  Tensors storages, in;
  for (std::int64_t n : places.sizes) {
    storages.push_back(*Tensor::make(vm.budget(), DType::F64, std::vector{n}));
    for (std::int64_t k = 0; k < n; ++k)
      storages.back().as<double>()[k] = static_cast<double>(static_cast<int>(rng() % 17) - 8) / 8;
  }
  for (std::size_t k = 0; k < places.layouts.size(); ++k) {
    const Tensor& s = storages[places.storage[k]];
    in.push_back(Tensor::over(s.base(), DType::F64, places.layouts[k], s.storage()));
  }
  return call(vm, p.name, in, storages);
}

bool same(const Tensor& a, const Tensor& b) {
  const Tensor x = *a.contiguous({}), y = *b.contiguous({});
  return x.bytes() == y.bytes() && std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0;
}

void compare(VM& written, VM& wrapped, const AliasProgram& p, const Places& places, std::uint64_t seed, long& ran) {
  const Outcome a = run(written, p, places, seed), b = run(wrapped, p, places, seed);
  // A view that the strides of an argument don't allow may pass where a block only reads it.
  if (a.failed) return;
  ASSERT_FALSE(b.failed) << b.error;
  ++ran;
  ASSERT_EQ(a.out.size(), b.out.size());
  for (std::size_t k = 0; k < a.out.size(); ++k)
    EXPECT_TRUE(same(a.out[k], b.out[k])) << "value " << k << ": " << print(a.out[k]) << " and " << print(b.out[k]);
}

TEST(AliasWrapper, AsWrittenAgainstFunctionalForms) {
  constexpr std::uint64_t kBatch = 50;
  const char *count = std::getenv("TFVM_ALIAS_PROGRAMS"), *seed_text = std::getenv("TFVM_SEED");
  const std::uint64_t n = count ? std::strtoull(count, nullptr, 10) : 150,
                      seed = seed_text ? std::strtoull(seed_text, nullptr, 10) : 1;
  long ran = 0, forms = 0, as_written = 0;
  for (std::uint64_t first = 0; first < n && !HasFailure(); first += kBatch) {
    std::vector<AliasProgram> programs;
    std::string text = kAliasHelpers;
    for (std::uint64_t k = first; k < std::min(n, first + kBatch); ++k) {
      programs.push_back(alias_program(seed, k, k % 4 == 3));
      text += programs.back().text;
    }
    std::unique_ptr<VM> vms[2];
    for (int k : {0, 1}) {
      VmOptions o;
      o.functionalize = k == 1;
      o.log = [&](std::string_view category, const std::string& line) {
        if (category == "input_output") ++(line.find("as written") == line.npos ? forms : as_written);
      };
      vms[k] = *VM::create(o);
      add_ops(*vms[k]);
      const Status loaded = vms[k]->load_text(text, "alias.tfa");
      ASSERT_TRUE(loaded) << loaded.error().message;
    }
    std::mt19937_64 rng(seed + first);
    for (std::uint64_t k = 0; k < programs.size() && !HasFailure(); ++k) {
      const AliasProgram& p = programs[k];
      SCOPED_TRACE("program " + std::to_string(first + k) + " of seed " + std::to_string(seed) + ":\n" + p.text);
      compare(*vms[0], *vms[1], p, apart(p), rng(), ran);
      compare(*vms[0], *vms[1], p, together(p, rng), rng(), ran);
    }
  }
  std::printf("%ld ran, %ld forms made, %ld as written\n", ran, forms, as_written);
  EXPECT_GT(forms, ran / 2);
}

}  // namespace
}  // namespace tfvm::test
