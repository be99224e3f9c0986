#include "jit/x86/emit.h"

#include <cstring>
#include <deque>

#include "jit/x86/body.h"
#include "jit/x86/lower.h"

namespace tfvm::x86 {

namespace {

// Registers that hold addresses of accesses; the other accesses have theirs in the frame. Scratch: rax, rcx, rdx, rsi.
constexpr int kPointerRegisters[] = {14, 15, 5, 8, 9, 10, 11, 7};
const ax::Gp kSaved[] = {ax::rbp, ax::rbx, ax::r12, ax::r13, ax::r14, ax::r15};

class NestEmitter {
 public:
  NestEmitter(const NestShape& shape, bool is_avx512, aj::CodeHolder& holder)
      : shape_(shape),
        holder_(holder),
        a_(&holder),
        code_(shape.lanes, is_avx512 ? 64 : 32),
        e_{a_, shape, code_, {}, Pool(a_, is_avx512 ? 64 : 32), is_avx512} {
    a_.setErrorHandler(&failed_);
  }

  Status run() {
    Lowering(shape_, code_).run();
    split();
    lay_out();
    prologue();
    if (shape_.one) {
      add_body(before_, Trip::One);
      add_body(loop_, Trip::One);
    } else {
      loops();
    }
    epilogue();
    for (Body& b : bodies_) b.emit_rare_calls();
    e_.pool.embed();
    const std::int32_t size = e_.frame.size();
    std::memcpy(holder_.textSection()->data() + frame_size_at_, &size, 4);
    if (failed_.error != aj::kErrorOk)
      return Error(Code::Internal, std::string("the assembler refused an instruction: ") + failed_.message);
    return ok();
  }

 private:
  struct Failure : aj::ErrorHandler {
    aj::Error error = aj::kErrorOk;
    std::string message;
    void handleError(aj::Error err, const char* text, aj::BaseEmitter*) override {
      if (error == aj::kErrorOk) message = text;
      error = err;
    }
  };

  int outer() const { return shape_.loops > 0 ? shape_.loops - 1 : 0; }
  void split();
  void lay_out();
  void prologue();
  void rest_masks();
  void indices();
  void loops();
  void epilogue();
  void add_body(const std::vector<LaneId>& order, Trip trip) {
    bodies_.emplace_back(e_, order, trip);
    bodies_.back().run();
  }

  const NestShape& shape_;
  aj::CodeHolder& holder_;
  Failure failed_;
  ax::Assembler a_;
  LaneCode code_;
  Emission e_;
  std::vector<LaneId> before_, loop_;  // what every trip has in common, and the trip
  std::vector<std::int32_t> counters_;
  std::int32_t saved_sp_ = 0;
  std::size_t frame_size_at_ = 0;
  std::deque<Body> bodies_;
};

// What depends on no trip of the inner loop is computed before it; what the trips take of that gets a home.
void NestEmitter::split() {
  const std::vector<std::uint8_t> needed = code_.mark_needed();
  std::vector<std::uint8_t> same(code_.size(), 0), used(code_.size(), 0);
  const auto is_same = [&](LaneId v) {
    const LaneInst& i = code_[v];
    switch (i.op) {
      case LaneOp::Const:
        return true;
      case LaneOp::Load:
      case LaneOp::LoadBool:
      case LaneOp::Iota:
        return shape_.accesses[i.in[0]].inner == Inner::Same;
      case LaneOp::Store:
      case LaneOp::StoreBool:
      case LaneOp::Call:
      case LaneOp::CallPart:
        return false;
      default:
        bool all = true;
        code_.for_operands(v, [&](LaneId in) { all = all && same[in]; });
        return all;
    }
  };
  for (LaneId v = 0; v < code_.size(); ++v) {
    if (!needed[v]) continue;
    same[v] = !shape_.one && is_same(v);
    if (code_[v].op == LaneOp::Const) continue;
    (same[v] ? before_ : loop_).push_back(v);
    if (!same[v]) code_.for_operands(v, [&](LaneId in) { used[in] = 1; });
  }
  e_.home.assign(code_.size(), -1);
  for (LaneId v : before_)
    if (used[v]) e_.home[v] = e_.frame.take(e_.reg_bytes());
}

void NestEmitter::lay_out() {
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k) {
    Pointer p;
    if (k < std::size(kPointerRegisters))
      p.gp = kPointerRegisters[k];
    else
      p.slot = e_.frame.take(8);
    e_.pointers.push_back(p);
    e_.index.push_back(shape_.accesses[k].inner == Inner::Strided ? e_.frame.take(e_.reg_bytes()) : 0);
  }
  for (int d = 0; d < outer(); ++d) counters_.push_back(e_.frame.take(8));
  saved_sp_ = e_.frame.take(8);
  e_.bytes = e_.frame.take(64);
  for (int k = 0; k < code_.parts(4); ++k) e_.rest4.push_back(e_.frame.take(e_.reg_bytes()));
  for (int k = 0; k < code_.parts(8); ++k) e_.rest8.push_back(e_.frame.take(e_.reg_bytes()));
  if (code_.calls().empty()) return;
  const std::int32_t lanes = code_.lanes() * 8 < 64 ? 64 : code_.lanes() * 8;
  for (std::int32_t& in : e_.call_in) in = e_.frame.take(lanes);
  e_.call_out = e_.frame.take(lanes);
  e_.call_saved = e_.frame.take(64 + 32 * 64 + 64);
}

void NestEmitter::prologue() {
  for (const ax::Gp& r : kSaved) a_.push(r);
  a_.mov(ax::rax, ax::rsp);
  a_.and_(ax::rsp, -64);
  a_.long_().sub(ax::rsp, 0x7fffffff);  // the size of the frame, known at the end
  frame_size_at_ = a_.offset() - 4;
  a_.mov(e_.at(saved_sp_), ax::rax);
  a_.mov(ax::rcx, ax::rdi);
  a_.mov(Emission::kArgs, ax::rsi);
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k) {
    const ShapeAccess& s = shape_.accesses[k];
    const Pointer& p = e_.pointers[k];
    const ax::Gp to = p.gp >= 0 ? ax::gpq(static_cast<std::uint32_t>(p.gp)) : ax::rax;
    a_.mov(to, e_.arg(arg_access(shape_, k)));
    if (!s.is_iota) a_.add(to, ax::ptr(ax::rcx, static_cast<std::int32_t>(s.base) * 8));
    if (p.gp < 0) a_.mov(e_.at(p.slot), to);
  }
  if (shape_.one) return;
  rest_masks();
  indices();
}

void NestEmitter::rest_masks() {
  const auto mask = [&](std::int32_t to, int width, int part) {
    const ax::Vec x = e_.vec(0);
    const int lanes = e_.reg_bytes() / width;
    width == 4 ? a_.vpbroadcastd(x, e_.arg(kArgRest)) : a_.vpbroadcastq(x, e_.arg(kArgRest));
    const ax::Mem ramp = e_.pool.ramp(width, part * lanes, 1);
    const auto id = width == 4 ? ax::Inst::kIdVpcmpgtd : ax::Inst::kIdVpcmpgtq;
    if (e_.is_avx512) {
      a_.emit(id, ax::k1, x, ramp);
      a_.kmovw(e_.at(to), ax::k1);
    } else {
      a_.emit(id, x, x, ramp);
      a_.vmovups(e_.at(to), x);
    }
  };
  bool uses[2] = {false, false};
  for (LaneId v = 0; v < code_.size(); ++v)
    if (code_[v].op == LaneOp::Load || code_[v].op == LaneOp::Store) uses[code_[v].width == 8] = true;
  for (int k = 0; uses[0] && k < code_.parts(4); ++k) mask(e_.rest4[static_cast<std::size_t>(k)], 4, k);
  for (int k = 0; uses[1] && k < code_.parts(8); ++k) mask(e_.rest8[static_cast<std::size_t>(k)], 8, k);
}

void NestEmitter::indices() {
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k) {
    const ShapeAccess& s = shape_.accesses[k];
    if (s.inner != Inner::Strided) continue;
    const ax::Mem stride = e_.arg(arg_access(shape_, k) + 1);
    if (s.is_iota) {
      a_.xor_(ax::eax, ax::eax);
      for (int lane = 0; lane < e_.reg_bytes() / 8; ++lane) {
        a_.mov(e_.at(e_.index[k] + 8 * lane), ax::rax);
        a_.add(ax::rax, stride);
      }
    } else {
      const ax::Vec x = e_.vec(0);
      a_.vpbroadcastd(x, stride);
      a_.vpmulld(x, x, e_.pool.ramp(4, 0, 1));
      a_.vmovups(e_.at(e_.index[k]), x);
    }
  }
}

void NestEmitter::loops() {
  std::vector<aj::Label> heads;
  for (int d = 0; d < outer(); ++d) {
    heads.push_back(a_.newLabel());
    ax::Mem counter = e_.at(counters_[static_cast<std::size_t>(d)]);
    counter.setSize(8);
    a_.mov(counter, 0);
    a_.bind(heads.back());
  }
  add_body(before_, Trip::Whole);
  const aj::Label again = a_.newLabel(), rest = a_.newLabel(), done = a_.newLabel();
  a_.xor_(ax::r12d, ax::r12d);
  a_.mov(Emission::kEnd, e_.arg(kArgWhole));
  a_.test(Emission::kEnd, Emission::kEnd);
  a_.jz(rest);
  a_.align(aj::AlignMode::kCode, 32);
  a_.bind(again);
  add_body(loop_, Trip::Whole);
  a_.add(Emission::kIndex, shape_.lanes);
  a_.cmp(Emission::kIndex, Emission::kEnd);
  a_.jl(again);
  a_.bind(rest);
  ax::Mem left = e_.arg(kArgRest);
  left.setSize(8);
  a_.cmp(left, 0);
  a_.je(done);
  add_body(loop_, Trip::Rest);
  a_.bind(done);
  for (int d = outer(); d-- > 0;) {
    for (std::size_t k = 0; k < shape_.accesses.size(); ++k) {
      const Pointer& p = e_.pointers[k];
      const ax::Mem step = e_.arg(arg_access(shape_, k) + 2 + d);
      if (p.gp >= 0) {
        a_.add(ax::gpq(static_cast<std::uint32_t>(p.gp)), step);
      } else {
        a_.mov(ax::rax, step);
        a_.add(e_.at(p.slot), ax::rax);
      }
    }
    const ax::Mem counter = e_.at(counters_[static_cast<std::size_t>(d)]);
    a_.mov(ax::rax, counter);
    a_.inc(ax::rax);
    a_.mov(counter, ax::rax);
    a_.cmp(ax::rax, e_.arg(kArgExtents + d));
    a_.jl(heads[static_cast<std::size_t>(d)]);
  }
}

void NestEmitter::epilogue() {
  a_.vzeroupper();
  a_.mov(ax::rsp, e_.at(saved_sp_));
  for (std::size_t k = std::size(kSaved); k-- > 0;) a_.pop(kSaved[k]);
  a_.ret();
}

}  // namespace

Status emit_nest(const NestShape& shape, bool is_avx512, aj::CodeHolder& holder) {
  return NestEmitter(shape, is_avx512, holder).run();
}

}  // namespace tfvm::x86
