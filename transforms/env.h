#pragma once
// What every transform is given: the tables, how to build, results of passes already run, and where the text rules for
// derivatives of elementwise ops come from. One per VM; used under its compile lock.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "bytecode/builder.h"
#include "bytecode/transform_table.h"

namespace tfvm {

using Mask = std::vector<std::uint8_t>;  // one flag per parameter, result or value

// The result of a pass: a function (or several), flags of its results, and numbers of the pass's own.
struct PassResult {
  FunctionId f;
  Mask mask;
  std::vector<FunctionId> more;
  std::vector<std::int64_t> numbers;
};

// (pass, function, parameters) -> result. Parameters are spelled out as integers, so equal keys are equal requests.
class PassMemo {
 public:
  const PassResult* find(std::string_view pass, FunctionId f, std::span<const std::int64_t> params) const;
  const PassResult& add(std::string_view pass, FunctionId f, std::span<const std::int64_t> params, PassResult r);
  std::size_t size() const { return results_.size(); }
  // fn(pass, f, params, result)
  template <class Fn>
  void for_each(Fn fn) const {
    for (const auto& [key, result] : results_) {
      const auto& [pass, body, debug, params] = key;
      fn(std::string_view(pass), FunctionId{BodyId{body}, DebugId{debug}}, std::span(params), result);
    }
  }
  void clear() { results_.clear(); }
  // Told of each new result, for whoever shows what passes make.
  std::function<void(std::string_view pass, const PassResult& result)> trace;

 private:
  using Key = std::tuple<std::string, std::uint32_t, std::uint32_t, std::vector<std::int64_t>>;
  std::map<Key, PassResult> results_;
};

struct TransformEnv {
  Tables& tables;
  BuilderOptions options;
  DerivativeRules* derivatives = nullptr;  // functions of stdlib/derivatives.tfa
  PassMemo memo;
  std::unordered_map<BodyId, std::uint8_t> lane_uses;  // of functions asked about so far (vmap/axis.h)
  std::map<std::pair<const CalleeRef*, bool>, std::shared_ptr<CalleeRef>> functional;  // of full callees (full.h)
  std::vector<AttrId> batching;  // names of the custom ops whose rules are being batched (vmap/custom.cpp)
  // Warnings by category ("batch_rule"), for whoever listens.
  std::function<void(std::string_view category, const std::string& message)> log;

  // Told of each instruction that a vmap meets, how it is batched and which operands are; null: nobody listens.
  std::function<void(FunctionId source, InstrId instr, std::string_view how, const Mask& batched)> batch_trace;

  // All that was remembered of functions which Tables::forget lets go of.
  void forget() { memo.clear(), lane_uses.clear(), functional.clear(); }

  void report(std::string_view category, const std::string& message) {
    if (log) log(category, message);
  }
};

}  // namespace tfvm
