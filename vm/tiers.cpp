#include "vm/tiers.h"

#include <cstdlib>

#include "vm/profile/profile.h"

namespace tfvm {

class TierCore {
 public:
  explicit TierCore(const TierOptions& o)
      : options(o),
        listener(code_listener(o.perf)),
        compiler(o.isa.value_or(NestCompiler::best_isa()), o.few_registers, listener) {}

  void push(const std::shared_ptr<NativeSlot>& slot);
  void wait();
  void stop();
  bool claim(NativeSlot& slot);

  const TierOptions options;
  const std::shared_ptr<CodeListener> listener;  // null: nobody
  NestCompiler compiler;

 private:
  void work();

  std::mutex lock_;
  std::condition_variable wake_, idle_;
  std::shared_ptr<NativeSlot> first_;
  NativeSlot* last_ = nullptr;
  std::thread thread_;
  bool is_stopped_ = false, is_busy_ = false;

  friend class NativeSlot;
};

namespace {

constexpr std::int64_t kNever = std::int64_t{1} << 62;
constexpr std::string_view kRefused =
    "the system gives no executable memory, so there is no machine code and calls are interpreted, which is slower; "
    "allow it (seccomp, SELinux execmem, MemoryDenyWriteExecute of systemd), or set TFVM_TIER=interp, which plans for "
    "the interpreter and is silent";

}  // namespace

std::optional<Tier> parse_tier(std::string_view name) {
  if (name == "interp") return Tier::Interp;
  if (name == "jit") return Tier::Jit;
  if (name == "auto") return Tier::Auto;
  return std::nullopt;
}

TierOptions tier_options_of_environment() {
  TierOptions o;
  if (const char* tier = std::getenv("TFVM_TIER")) o.tier = parse_tier(tier).value_or(o.tier);
  if (const char* sync = std::getenv("TFVM_SYNC")) o.sync = *sync == '1';
  if (const char* isa = std::getenv("TFVM_ISA"); isa && std::string_view(isa) == "avx2") o.isa = Isa::Avx2;
  if (const char* chaos = std::getenv("TFVM_CHAOS")) o.few_registers = std::string_view(chaos) == "few_registers";
  if (const char* perf = std::getenv("TFVM_PERF")) o.perf = perf;
  return o;
}

// Whether the caller is the one to compile it.
bool TierCore::claim(NativeSlot& slot) {
  const std::lock_guard guard(lock_);
  if (slot.asked_ || is_stopped_) return false;
  return slot.asked_ = true;
}

void TierCore::push(const std::shared_ptr<NativeSlot>& slot) {
  const std::lock_guard guard(lock_);
  if (slot->asked_ || is_stopped_) return;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (...) {
      is_stopped_ = true;  // no thread, no code: all stays interpreted
      return;
    }
  }
  slot->asked_ = true;
  (last_ ? last_->next_ : first_) = slot;
  last_ = slot.get();
  wake_.notify_one();
}

void TierCore::work() {
  std::unique_lock guard(lock_);
  while (true) {
    wake_.wait(guard, [&] { return is_stopped_ || first_; });
    if (is_stopped_) return;
    const std::shared_ptr<NativeSlot> slot = std::move(first_);
    first_ = std::move(slot->next_);
    if (!first_) last_ = nullptr;
    is_busy_ = true;
    guard.unlock();
    slot->compile();
    guard.lock();
    is_busy_ = false;
    if (!first_) idle_.notify_all();
  }
}

void TierCore::wait() {
  std::unique_lock guard(lock_);
  idle_.wait(guard, [&] { return is_stopped_ || (!first_ && !is_busy_); });
}

void TierCore::stop() {
  std::shared_ptr<NativeSlot> left;
  {
    const std::lock_guard guard(lock_);
    is_stopped_ = true;
    left = std::move(first_);
    last_ = nullptr;
    wake_.notify_all();
    idle_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  while (left) left = std::move(left->next_);
}

NativeSlot::NativeSlot(std::shared_ptr<TierCore> core, Make make)
    : left_(core->options.hot), core_(std::move(core)), make_(std::move(make)) {}

void NativeSlot::ask() {
  left_.store(kNever, std::memory_order_relaxed);
  if (!core_->options.sync)
    core_->push(shared_from_this());
  else if (core_->claim(*this))
    compile();
}

void NativeSlot::compile() {
  try {
    Result<NativeNest> made = make_(core_->compiler);
    make_ = {};
    if (made) {
      code_.emplace(*std::move(made));
      ready_.store(&*code_, std::memory_order_release);
      return;
    }
  } catch (const std::bad_alloc&) {  // it stays interpreted
  }
}

Tiers::Tiers(const TierOptions& options, Notice notice)
    : core_(std::make_shared<TierCore>(options)), notice_(std::move(notice)) {}
Tiers::~Tiers() { core_->stop(); }

bool Tiers::is_refused() {
  if (!core_->compiler.is_refused()) return false;
  if (const Notice notice = std::exchange(notice_, {})) notice(std::string(kRefused));
  return true;
}

std::shared_ptr<NativeSlot> Tiers::slot(NativeSlot::Make make) {
  if (core_->options.tier == Tier::Interp || !NestCompiler::is_available() || is_refused()) return nullptr;
  auto slot = std::make_shared<NativeSlot>(core_, std::move(make));
  if (core_->options.tier == Tier::Jit && core_->claim(*slot)) {
    slot->compile();
    is_refused();  // it may be, after code that there was room for
  }
  return slot;
}

bool Tiers::has_listener() const { return core_->listener != nullptr; }
const TierOptions& Tiers::options() const { return core_->options; }
NestCompiler& Tiers::compiler() { return core_->compiler; }
void Tiers::seal() { core_->stop(); }
void Tiers::wait() { core_->wait(); }

}  // namespace tfvm
