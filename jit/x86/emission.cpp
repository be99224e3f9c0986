#include "jit/x86/emission.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace tfvm::x86 {

namespace {

const ax::Gp kSaved[] = {ax::rbp, ax::rbx, ax::r12, ax::r13, ax::r14, ax::r15};

}  // namespace

Status EmitFailure::status() const {
  if (error == aj::kErrorOk) return ok();
  return Error(Code::Internal, "the assembler refused an instruction: " + message);
}

void Emission::note_mark(std::uint32_t source) {
  if ((notes->marks.empty() ? 0 : notes->marks.back().source) == source) return;
  const auto at = static_cast<std::uint32_t>(a.offset());
  if (!notes->marks.empty() && notes->marks.back().offset == at) notes->marks.pop_back();
  notes->marks.push_back({at, source});
  char text[24];
  std::snprintf(text, sizeof text, "; source %u", source);
  if (a.code()->logger()) a.comment(text);
}

namespace {

using Above = CodeFrame::Above;

// What is true from here on.
[[gnu::noinline]] void note_frame(Emission& e, Above above, std::size_t saved, std::int32_t at = 0) {
  if (!e.notes) return;
  const auto add = static_cast<std::int32_t>(8 + 8 * saved);
  e.notes->frames.push_back(
      {above, static_cast<std::uint8_t>(saved), static_cast<std::uint32_t>(e.a.offset()), add, at});
}

std::size_t saved(const Emission& e) { return e.is_light ? 0 : std::size(kSaved); }

// As it is in the body, where so much was pushed since.
[[gnu::noinline]] void note_body_frame(Emission& e, std::int32_t pushed = 0) {
  note_frame(e, Above::Stored, saved(e), e.saved_sp + pushed);
}

}  // namespace

void take_places(Emission& e) {
  for (const ShapeAccess& s : e.shape.accesses)
    e.index.push_back(s.inner == Inner::Strided ? e.frame.take(e.reg_bytes()) : 0);
  e.saved_sp = e.frame.take(8);
  e.bytes = e.frame.take(64);
  for (int k = 0; k < e.code.parts(4); ++k) e.rest4.push_back(e.frame.take(e.reg_bytes()));
  for (int k = 0; k < e.code.parts(8); ++k) e.rest8.push_back(e.frame.take(e.reg_bytes()));
  if (e.code.calls().empty()) return;
  const std::int32_t lanes = e.code.lanes() * 8 < 64 ? 64 : e.code.lanes() * 8;
  for (std::int32_t& in : e.call_in) in = e.frame.take(lanes);
  e.call_out = e.frame.take(lanes);
  e.call_saved = e.frame.take(64 + 32 * 64 + 64);
}

void enter(Emission& e) {
  note_frame(e, Above::Rsp, 0);
  for (std::size_t k = 0; k < saved(e); ++k) {
    e.a.push(kSaved[k]);
    note_frame(e, Above::Rsp, k + 1);
  }
  e.makes_frame.first = e.a.offset();
  e.a.mov(ax::rax, ax::rsp);
  note_frame(e, Above::Rax, saved(e));
  e.a.and_(ax::rsp, -64);
  e.a.long_().sub(ax::rsp, 0x7fffffff);  // the size of the frame, known at the end
  e.frame_size_at = e.a.offset() - 4;
  e.a.mov(ax::ptr(ax::rsp, e.saved_sp), ax::rax);
  e.makes_frame.second = e.a.offset();
  note_body_frame(e);
  e.a.mov(ax::rcx, ax::rdi);
  if (!e.is_light) e.a.mov(Emission::kArgs, ax::rsi);
}

void begin_rounds(Emission& e, std::int32_t counter, const aj::Label& head) {
  ax::Mem at = e.at(counter);
  at.setSize(8);
  e.a.mov(at, 0);
  e.a.bind(head);
}

void end_rounds(Emission& e, std::int32_t counter, int loop, const aj::Label& head) {
  e.a.mov(ax::rax, e.at(counter));
  e.a.inc(ax::rax);
  e.a.mov(e.at(counter), ax::rax);
  e.a.cmp(ax::rax, e.arg(kArgExtents + loop));
  e.a.jl(head);
}

void place_pointers(Emission& e, std::size_t registers) {
  for (std::size_t k = 0; k < e.shape.accesses.size(); ++k) {
    Pointer p;
    if (k < registers)
      p.gp = (e.is_light ? kLightRegisters : kPointerRegisters)[k];
    else
      p.slot = e.frame.take(8);
    e.pointers.push_back(p);
  }
}

void add_to_pointer(Emission& e, std::size_t access, const ax::Mem& step) {
  const Pointer& p = e.pointers[access];
  if (p.gp >= 0) {
    e.a.add(ax::gpq(static_cast<std::uint32_t>(p.gp)), step);
  } else {
    e.a.mov(ax::rax, step);
    e.a.add(e.at(p.slot), ax::rax);
  }
}

void set_pointer(Emission& e, std::size_t access) {
  const ShapeAccess& s = e.shape.accesses[access];
  const Pointer& p = e.pointers[access];
  const ax::Gp to = p.gp >= 0 ? ax::gpq(static_cast<std::uint32_t>(p.gp)) : ax::rax;
  e.a.mov(to, e.arg(arg_access(e.shape, access)));
  if (!s.is_iota) e.a.add(to, ax::ptr(ax::rcx, static_cast<std::int32_t>(s.base) * 8));
  if (p.gp < 0) e.a.mov(e.at(p.slot), to);
}

void set_rest_masks(Emission& e) {
  if (!(e.shape.trips & kRestTrips)) return;
  const auto mask = [&](std::int32_t to, int width, int part) {
    const ax::Vec x = e.vec(0);
    const int lanes = e.reg_bytes() / width;
    width == 4 ? e.a.vpbroadcastd(x, e.arg(kArgRest)) : e.a.vpbroadcastq(x, e.arg(kArgRest));
    const ax::Mem ramp = e.pool.ramp(width, part * lanes, 1);
    const auto id = width == 4 ? ax::Inst::kIdVpcmpgtd : ax::Inst::kIdVpcmpgtq;
    if (e.is_avx512) {
      e.a.emit(id, ax::k1, x, ramp);
      e.a.kmovw(e.at(to), ax::k1);
    } else {
      e.a.emit(id, x, x, ramp);
      e.a.vmovups(e.at(to), x);
    }
  };
  bool uses[2] = {false, false};
  for (LaneId v = 0; v < e.code.size(); ++v)
    if (e.code[v].op == LaneOp::Load || e.code[v].op == LaneOp::Store || e.code[v].op == LaneOp::RestMask ||
        e.code[v].op == LaneOp::While)
      uses[e.code[v].width == 8] = true;
  for (int k = 0; uses[0] && k < e.code.parts(4); ++k) mask(e.rest4[static_cast<std::size_t>(k)], 4, k);
  for (int k = 0; uses[1] && k < e.code.parts(8); ++k) mask(e.rest8[static_cast<std::size_t>(k)], 8, k);
}

void set_indices(Emission& e) {
  for (std::size_t k = 0; k < e.shape.accesses.size(); ++k) {
    const ShapeAccess& s = e.shape.accesses[k];
    if (s.inner != Inner::Strided) continue;
    const ax::Mem stride = e.arg(arg_access(e.shape, k) + 1);
    if (s.is_iota && !s.is_narrow) {
      e.a.xor_(ax::eax, ax::eax);
      for (int lane = 0; lane < e.reg_bytes() / 8; ++lane) {
        e.a.mov(e.at(e.index[k] + 8 * lane), ax::rax);
        e.a.add(ax::rax, stride);
      }
    } else {
      const ax::Vec x = e.vec(0);
      e.a.vpbroadcastd(x, stride);
      e.a.vpmulld(x, x, e.pool.ramp(4, 0, 1));
      e.a.vmovups(e.at(e.index[k]), x);
    }
  }
}

namespace {

// `apart`: bytes from p that are compared with q.
void compare_pointers(Emission& e, const Pointer& p, const Pointer& q, std::int32_t apart) {
  const auto where = [&](const Pointer& r) {
    return r.gp < 0 ? aj::Operand(e.at(r.slot)) : aj::Operand(ax::gpq(static_cast<std::uint32_t>(r.gp)));
  };
  e.a.emit(ax::Inst::kIdMov, ax::rdx, where(p));
  if (apart) e.a.add(ax::rdx, apart);
  e.a.emit(ax::Inst::kIdCmp, ax::rdx, where(q));
}

}  // namespace

void last_points(Emission& e, const aj::Label& trip, const aj::Label& done) {
  constexpr std::size_t kMost = 12;  // accesses that are compared with each other
  const NestShape& shape = e.shape;
  if (!shape.may_repeat && (shape.trips != kAllTrips || shape.accesses.size() > kMost)) return;
  const aj::Label no = e.a.newLabel();
  e.a.mov(ax::rax, e.arg(kArgWhole));
  e.a.add(ax::rax, e.arg(kArgRest));
  e.a.cmp(Emission::kIndex, ax::rax);
  e.a.jge(done);
  for (const NestNode& n : shape.nodes) {
    if (shape.may_repeat || n.kind != NestNodeKind::Load || is_picking(n)) continue;
    for (const ShapeStore& s : shape.stores) {
      const ShapeAccess &from = shape.accesses[n.access], &to = shape.accesses[s.access];
      if (from.inner != to.inner || size_of(from.dtype) != size_of(to.dtype)) continue;
      compare_pointers(e, e.pointers[n.access], e.pointers[s.access],
                       static_cast<std::int32_t>(n.bits) - s.displacement);
      e.a.je(no);
    }
  }
  e.a.lea(Emission::kIndex, ax::ptr(ax::rax, -shape.lanes));
  e.a.jmp(trip);
  e.a.bind(no);
}

void leave(Emission& e) {
  if (!e.code.is_one() || !e.code.calls().empty()) e.a.vzeroupper();
  e.leaves_frame.first = e.a.offset();
  e.a.mov(ax::rsp, ax::ptr(ax::rsp, e.saved_sp));
  e.leaves_frame.second = e.a.offset();
  note_frame(e, Above::Rsp, saved(e));
  for (std::size_t k = saved(e); k-- > 0;) {
    e.a.pop(kSaved[k]);
    note_frame(e, Above::Rsp, k);
  }
  e.a.ret();
  note_body_frame(e);
}

namespace {

// Calls are many, and few are ever made: what they have in common is there once.
void emit_caller(Emission& e, const aj::Label& label, std::uint64_t kept) {
  constexpr int kVolatile[] = {7, 8, 9, 10, 11};  // rdi, r8 to r11: addresses, which a callee may change
  const auto at = [&](std::int32_t place) { return e.at(place + 16); };  // below: the return address, and rax
  const auto vector = [&](int id) { return at(e.vectors() + id * 64); };
  const auto mask = [&](int id) { return at(e.vectors() + 32 * 64 + id * 8); };
  const auto saved = [&](std::size_t k) { return at(e.call_saved + static_cast<int>(k) * 8); };
  const auto is_kept = [&](int bit) { return (kept >> bit & 1) != 0; };
  e.a.bind(label);
  note_body_frame(e, 8);
  e.a.push(ax::rax);  // aligns the stack
  note_body_frame(e, 16);
  for (const bool back : {false, true}) {
    const auto move = [&](aj::InstId inst, aj::Operand memory, aj::Operand reg) {
      if (back) std::swap(memory, reg);
      e.a.emit(inst, memory, reg);
    };
    if (back) {
      e.a.mov(ax::r8d, ax::ecx);
      e.a.lea(ax::rdi, at(e.call_out));
      e.a.lea(ax::rsi, at(e.call_in[0]));
      e.a.lea(ax::rdx, at(e.call_in[1]));
      e.a.lea(ax::rcx, at(e.call_in[2]));
      e.a.call(ax::rax);
    }
    for (int id = 0; id < 32; ++id)
      if (is_kept(id)) move(ax::Inst::kIdVmovups, vector(id), e.vec(id));
    for (int id = 1; id < 8; ++id)
      if (is_kept(32 + id)) move(ax::Inst::kIdKmovw, mask(id), ax::k(id));
    for (std::size_t k = 0; k < std::size(kVolatile); ++k)
      move(ax::Inst::kIdMov, saved(k), ax::gpq(static_cast<std::uint32_t>(kVolatile[k])));
  }
  e.a.pop(ax::rcx);
  note_body_frame(e, 8);
  e.a.ret();
}

// Instructions that do nothing, of up to 9 bytes each (Intel SDM volume 2, NOP).
void fill_with_nops(std::uint8_t* at, std::size_t bytes) {
  static constexpr std::uint8_t kNops[10][9] = {{},
                                                {0x90},
                                                {0x66, 0x90},
                                                {0x0f, 0x1f, 0x00},
                                                {0x0f, 0x1f, 0x40},
                                                {0x0f, 0x1f, 0x44},
                                                {0x66, 0x0f, 0x1f, 0x44},
                                                {0x0f, 0x1f, 0x80},
                                                {0x0f, 0x1f, 0x84},
                                                {0x66, 0x0f, 0x1f, 0x84}};
  while (bytes > 0) {
    const std::size_t some = std::min<std::size_t>(bytes, 9);
    std::memcpy(at, kNops[some], some);
    at += some, bytes -= some;
  }
}

}  // namespace

void finish(Emission& e, aj::CodeHolder& holder) {
  if (e.caller.isValid()) emit_caller(e, e.caller, 0);
  if (e.rare_caller.isValid()) emit_caller(e, e.rare_caller, e.kept);
  e.pool.embed();
  const std::int32_t size = e.frame.size();
  std::uint8_t* const code = holder.textSection()->data();
  std::memcpy(code + e.frame_size_at, &size, 4);
  if (!e.is_light || e.frame.is_used()) return;
  // A small nest that keeps nothing in its frame has none: calls one after the other would wait for rsp.
  for (const auto& [first, end] : {e.makes_frame, e.leaves_frame}) fill_with_nops(code + first, end - first);
  while (e.notes && e.notes->frames.size() > 1) e.notes->frames.pop_back();  // as it begins
}

}  // namespace tfvm::x86
