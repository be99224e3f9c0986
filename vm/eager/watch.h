#pragma once
// Who looks at a run by steps while it is made.

#include <span>
#include <string_view>

#include "vm/eager/code.h"
#include "vm/tensor.h"

namespace tfvm {

class EagerRun;

// Told of each step that has given its results, before the next one; an Error ends the run there.
class EagerWatch {
 public:
  virtual Status after(const EagerRun& run, const EagerCode& code, const EagerStep& step, std::span<Tensor> slots) = 0;

 protected:
  ~EagerWatch() = default;
};

// A loop on its way, and its trip: the place that it reads and writes, counted from 0.
struct LoopTrip {
  StepOrigin loop;
  std::string_view op;
  std::int64_t trip = 0;
};

}  // namespace tfvm
