// What functions take.
#include <unordered_set>

#include "jit/region/run.h"
#include "vm/cache/function_cache.h"
#include "vm/plan/walk.h"
#include "vm/tiers.h"

namespace tfvm {

namespace {

template <class T>
std::int64_t of(const std::vector<T>& v) {
  return static_cast<std::int64_t>(v.capacity() * sizeof(T)) + 16;  // of malloc
}

class Sum {
 public:
  std::int64_t bytes = 0;

  void plan(const Plan& root) {
    for_each_plan(
        root, [this](const Plan& p) { one(p); }, plans_);
  }

  void one(const Plan& p) {
    bytes += static_cast<std::int64_t>(sizeof p) + of(p.steps) + of(p.origins) + of(p.places) + of(p.nests) +
             of(p.kernels) + of(p.calls) + of(p.whiles) + of(p.scans) + of(p.tape_scans) + of(p.reduces) +
             of(p.updates) + types(p.params) + types(p.results);
    if (p.pool) bytes += p.pool->bytes();
    for (const NestStep& s : p.nests) bytes += static_cast<std::int64_t>(bytes_of(*s.code)) + slot(s.native != nullptr);
    for (const KernelStep& s : p.kernels) bytes += of(s.views) + of(s.shape) + 256;  // and its parameters
    for (const ScanStep& s : p.scans) bytes += slot(s.native.code != nullptr);
    for (const WhileStep& s : p.whiles) bytes += slot(s.native.code != nullptr);
  }

  void code(const EagerCode& c) {
    if (!codes_.insert(&c).second) return;
    bytes += static_cast<std::int64_t>(sizeof c) + of(c.steps);
    for (const EagerStep& s : c.steps) {
      bytes += of(s.in) + of(s.out) + of(s.dead) + (s.value ? s.value.bytes() : 0);
      if (s.plan) plan(*s.plan);
      for (const EagerRef& target : s.targets) code(*target);
    }
  }

  std::int64_t types(const std::vector<ValueType>& list) {
    std::int64_t n = of(list);
    for (const ValueType& v : list) n += of(v.dims);
    return n;
  }

 private:
  static std::int64_t slot(bool there) { return there ? 1024 : 0; }  // a NativeSlot with the arguments of its code

  std::unordered_set<const Plan*> plans_;
  std::unordered_set<const EagerCode*> codes_;
};

}  // namespace

std::int64_t bytes_of(const Function& f) {
  Sum s;
  s.bytes = static_cast<std::int64_t>(sizeof f) + s.types(f.in) + s.types(f.out);
  if (f.plan) s.plan(*f.plan);
  if (f.eager) s.code(*f.eager);
  return s.bytes;
}

}  // namespace tfvm
