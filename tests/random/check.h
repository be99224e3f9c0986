#pragma once
// Runs functions on plain vectors, and the properties that every program must have.

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "transforms/vmap/vmap.h"
#include "vm/vm.h"

namespace tfvm::testing {

using Values = std::vector<double>;

struct Bench {
  std::unique_ptr<VM> vm;
  Context context;

  Bench();
  Tables& t() { return vm->tables(); }
  TransformEnv& env() { return vm->transforms(); }
  const Body& body(FunctionId f) { return t().bodies[f.body]; }

  Tensor tensor(TypeId type, const Values& v);
  std::vector<Tensor> run(FunctionId f, std::span<const Tensor> inputs);  // adds a failure where the run fails
  std::vector<Tensor> random_inputs(std::span<const TypeId> types, std::mt19937_64& rng);
  Tensor plus(const Tensor& x, double h, const Tensor& dx);
};

Values values(const Tensor& x);
double dot(const Tensor& x, const Tensor& y);
// Largest |a - b| / max(1, |a|, |b|) over all elements; infinity where shapes differ. Equal infinities and NaN count as
// equal.
double difference(std::span<const Tensor> a, std::span<const Tensor> b);

// A vmap of f over `size` lanes, of about two in three of its arguments, at least of one, each along some dim; results
// likewise along some dim. Sometimes in chunks of lanes.
struct RandomVmap {
  VmapParams params;
  std::vector<TypeId> wide;  // argument types
};
RandomVmap random_vmap(Bench& bench, FunctionId f, std::int64_t size, std::mt19937_64& rng);
// One lane of a tensor.
Tensor lane(const Tensor& x, std::int64_t i, std::int64_t dim);

// How loops are nested in a function and in what it calls.
struct LoopCount {
  int scans = 0, whiles = 0;
  int depth = 0, while_depth = 0;  // the most loops (whiles) around one another
};
LoopCount count_loops(const Tables& t, FunctionId f);

// Each gives the largest difference it found; f takes and gives tensors, of which those of f64 are
// differentiated.
double jvp_against_quotient(Bench& bench, FunctionId f, std::mt19937_64& rng);
double vjp_against_jvp(Bench& bench, FunctionId f, std::mt19937_64& rng);
double vmap_against_loop(Bench& bench, FunctionId f, std::int64_t size, std::mt19937_64& rng);

}  // namespace tfvm::testing
