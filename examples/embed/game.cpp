// A game loop of 60 Hz: 1,000 agents are moved in each frame, and what is left of a budget of 0.5 ms goes into
// learning, a slice of a long gradient at a time. Memory and threads are the game's; no frame allocates.
//
// usage: game agents.tfa [SECONDS]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include <tfvm.hpp>

#include "host.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAgents = 1000, kLearners = 64, kFramesPerSecond = 60, kBudget = 500;  // us

using Floats = std::vector<float>;

int fail(const char* what, const tfvm_error& e) {
  std::printf("%s: %s:%d: %s: %s\n", what, e.file, e.line, tfvm_status_name(e.code), e.message);
  return 1;
}

struct Weights {
  Floats w1 = Floats(4 * 16), b1 = Floats(16), w2 = Floats(16 * 2);
};

void randomise(Floats& v, std::mt19937& random, float scale) {
  std::uniform_real_distribution<float> d(-scale, scale);
  for (float& x : v) x = d(random);
}

void descend(Floats& w, const Floats& g, float rate) {
  float norm = 1e-6f;
  for (float x : g) norm += x * x;
  rate /= std::max(1.0f, std::sqrt(norm));
  for (std::size_t k = 0; k < w.size(); ++k) w[k] -= rate * g[k];
}

double micros(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

// The terrain: an op of the program, and its derivative.
int height(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view* out, std::size_t, char*, std::size_t) {
  const auto* p = static_cast<const float*>(in[0].tensors[0].data);
  auto* h = static_cast<float*>(out[0].data);
  for (std::int64_t k = 0; k < out[0].dims[0]; ++k) h[k] = std::sin(3 * p[2 * k]) + std::cos(2 * p[2 * k + 1]);
  return 0;
}

int slope(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view* out, std::size_t, char*, std::size_t) {
  const auto* p = static_cast<const float*>(in[0].tensors[0].data);
  auto* s = static_cast<float*>(out[0].data);
  for (std::int64_t k = 0; k < out[0].dims[0]; ++k) {
    s[2 * k] = 3 * std::cos(3 * p[2 * k]);
    s[2 * k + 1] = -2 * std::sin(2 * p[2 * k + 1]);
  }
  return 0;
}

struct Game {
  std::mt19937 random{7};
  Weights weights, learning, gradient;  // `learning`: what the gradient under way is taken at
  Floats p = Floats(2 * kAgents), v = p, goal = p, p2 = p, v2 = p;
  Floats lp = Floats(2 * kLearners), lv = lp, lgoal = lp;
  float cost = 0, first_cost = 0;
  int gradients = 0, slices = 0;
  bool under_way = false;

  Game() {
    randomise(weights.w1, random, 0.5f);
    randomise(weights.w2, random, 0.5f);
    randomise(p, random, 1);
    randomise(goal, random, 1);
  }

  // New goals, in the valleys.
  tfvm::Status set_goals(tfvm::Context& c, const tfvm::Function& downhill) {
    randomise(goal, random, 1);
    Floats g(goal.size());
    for (int k = 0; k < 20; ++k) {
      if (auto s = c.call(downhill, {goal.data()}, {g.data()}); !s) return s;
      for (std::size_t i = 0; i < g.size(); ++i) goal[i] = std::clamp(goal[i] - 0.02f * g[i], -1.0f, 1.0f);
    }
    return {};
  }

  tfvm::Status move(tfvm::Context& c, const tfvm::Function& step) {
    auto s = c.call(step, {weights.w1.data(), weights.b1.data(), weights.w2.data(), p.data(), v.data(), goal.data()},
                    {p2.data(), v2.data()});
    p.swap(p2);
    v.swap(v2);
    return s;
  }

  // Goes on with the gradient for `us`, or starts the next one.
  tfvm::Result<bool> learn(tfvm::Context& c, const tfvm::Function& f, std::int64_t us) {
    if (!under_way) {
      std::copy_n(p.begin(), lp.size(), lp.begin());
      std::copy_n(v.begin(), lv.size(), lv.begin());
      std::copy_n(goal.begin(), lgoal.size(), lgoal.begin());
      learning = weights;
    }
    auto done = under_way ? c.resume(us)
                          : c.run_for(us, f,
                                      {learning.w1.data(), learning.b1.data(), learning.w2.data(), lp.data(), lv.data(),
                                       lgoal.data()},
                                      {&cost, gradient.w1.data(), gradient.b1.data(), gradient.w2.data()});
    ++slices;
    under_way = done && !*done;
    if (!done || !*done) return done;
    if (gradients++ == 0) first_cost = cost;
    descend(weights.w1, gradient.w1, 0.05f);
    descend(weights.b1, gradient.b1, 0.05f);
    descend(weights.w2, gradient.w2, 0.05f);
    return done;
  }

  double distance() const {
    double sum = 0;
    for (std::size_t k = 0; k < p.size(); k += 2) sum += std::hypot(p[k] - goal[k], p[k + 1] - goal[k + 1]);
    return sum / kAgents;
  }
};

std::string read(const char* path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

int play(const char* path, int seconds) {
  HostAllocator memory;
  JobSystem jobs(1);
  const tfvm_allocator allocator = memory.interface();
  const tfvm_executor executor = jobs.interface();
  tfvm_vm_options options = TFVM_VM_OPTIONS;
  options.allocator = &allocator;
  tfvm_context_options with_jobs = TFVM_CONTEXT_OPTIONS;
  with_jobs.executor = &executor;

  auto vm = tfvm::Vm::create(&options);
  if (!vm) return fail("vm", vm.error());
  tfvm_op op{sizeof op, nullptr, height, nullptr, 0};
  if (auto s = vm->register_op("game.height", op); !s) return fail("op", s.error());
  op.kernel = slope;
  if (auto s = vm->register_op("game.slope", op); !s) return fail("op", s.error());
  if (auto s = vm->load(read(path), "agents.tfa"); !s) return fail("load", s.error());
  auto step = vm->prepare("@step", "f32[4,16], f32[16], f32[16,2], f32[1000,2], f32[1000,2], f32[1000,2]");
  if (!step) return fail("step", step.error());
  auto learn = vm->prepare("@learn", "f32[4,16], f32[16], f32[16,2], f32[64,2], f32[64,2], f32[64,2]");
  if (!learn) return fail("learn", learn.error());
  auto downhill = vm->prepare("@slope", "f32[1000,2]");
  if (!downhill) return fail("slope", downhill.error());
  auto mover = vm->context(&with_jobs), learner = vm->context();  // a call that is paused keeps its context
  if (!mover || !learner) return fail("context", mover ? learner.error() : mover.error());

  Game game;
  const int frames = seconds * kFramesPerSecond;
  std::vector<double> times;
  long warm = 0, apart = 0;
  auto next = Clock::now();
  for (int frame = 0; frame < frames; ++frame) {
    const long before = memory.allocations();
    if (frame % 120 == 0)  // every two seconds; custom ops allocate their results
      if (auto s = game.set_goals(*mover, *downhill); !s) return fail("goals", s.error());
    apart += memory.allocations() - before;
    const auto begin = Clock::now();
    if (auto s = game.move(*mover, *step); !s) return fail("step", s.error());
    const auto left = static_cast<std::int64_t>(kBudget - micros(Clock::now() - begin));
    if (left > 20)
      if (auto s = game.learn(*learner, *learn, left - 20); !s) return fail("learn", s.error());
    times.push_back(micros(Clock::now() - begin));
    if (frame == 5) warm = memory.allocations() - apart;
    next += std::chrono::microseconds(1'000'000 / kFramesPerSecond);
    std::this_thread::sleep_until(next);  // the rest of the frame is the game's
  }
  const long allocated = memory.allocations() - apart - warm;
  learner->abandon();
  std::sort(times.begin(), times.end());
  const auto at = [&](double q) { return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))]; };
  std::printf("%d frames of %d agents: %.0f us in the middle, %.0f us at p99, %.0f us at worst; budget %d us\n", frames,
              kAgents, at(0.5), at(0.99), at(1), kBudget);
  std::printf("%d gradients in %d slices; cost %.4f -> %.4f, mean distance %.3f; %ld jobs; %ld allocations\n",
              game.gradients, game.slices, static_cast<double>(game.first_cost), static_cast<double>(game.cost),
              game.distance(), jobs.jobs(), allocated);
  const bool good =
      game.gradients >= 2 && game.slices > game.gradients && game.cost < game.first_cost && allocated == 0;
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: game agents.tfa [SECONDS]\n");
    return 2;
  }
  return play(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 10);
}
