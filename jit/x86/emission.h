#pragma once
// The state of one function of generated code: its frame, the addresses of accesses, and what its trips share; and the
// pieces that every such function begins and ends with.

#include "jit/x86/frame.h"
#include "jit/x86/lane_code.h"
#include "jit/x86/shape.h"

namespace tfvm::x86 {

enum class Trip : std::uint8_t {
  Whole,  // all lanes
  Rest,   // the first few lanes, as args[kArgRest] says
  One,    // the first lane
};

// What the code of one nest shares.
struct Emission {
  ax::Assembler& a;
  const NestShape& shape;
  const LaneCode& code;
  Frame frame;
  Pool pool;
  bool is_avx512;
  std::vector<Pointer> pointers;    // of accesses
  std::vector<std::int32_t> index;  // Strided: lane * stride of each lane, as i32; iotas that are not narrow: as i64
  std::vector<std::int32_t> rest4, rest8;  // masks of the Rest trip per part (AVX-512: 8 bytes with the bits)
  std::int32_t bytes = 0;                  // 64 bytes to gather bools in
  std::vector<std::int32_t> home;          // per lane value: where the preheader left it, -1
  std::vector<std::uint8_t> same;  // per lane value, where that is known: is it the same in all lanes and trips?
  std::vector<Carried> carries;    // of a loop
  std::vector<int> sums;           // the vector register of each LaneOp::Sum
  std::int32_t call_in[3] = {0, 0, 0}, call_out = 0, call_saved = 0;  // buffers of calls
  aj::Label caller, rare_caller;  // what calls rax on these buffers, of ecx lanes; the other one keeps registers
  std::uint64_t kept = 0;         // of rare calls, as Registers::live gives them
  aj::Label redo, done;           // where LaneOp::Check leads, and LaneOp::While
  bool is_light = false;          // a single point: no register is saved, arguments are only read at first, from rsi
  bool is_streaming = false;      // whole trips store past the caches
  bool few_registers = false;
  std::int32_t saved_sp = 0;
  // In the code: where the size of the frame goes, and the instructions that make the frame and leave it.
  std::size_t frame_size_at = 0;
  std::pair<std::size_t, std::size_t> makes_frame, leaves_frame;
  CodeNotes* notes = nullptr;

  int reg_bytes() const { return code.reg_bytes(); }
  // Vector registers of values: those below this number. Sums may have others.
  int registers() const { return few_registers ? kFewRegisters : is_avx512 ? 32 : 16; }
  std::int32_t vectors() const { return call_saved + 64; }  // where registers are saved: these, then masks
  ax::Mem arg(int k) const { return ax::ptr(is_light ? ax::rsi : kArgs, 8 * k); }
  ax::Mem at(std::int32_t offset) const { return frame.at(offset); }
  void mark(std::uint32_t source) {
    if (notes) note_mark(source);
  }
  void note_mark(std::uint32_t source);
  ax::Vec vec(int id) const { return vector(code.named_bytes(), static_cast<std::uint32_t>(id)); }

  static constexpr int kFewRegisters = 5;    // a rare call of four registers of lanes takes as many
  static constexpr ax::Gp kArgs = ax::rbx;   // the arguments
  static constexpr ax::Gp kIndex = ax::r12;  // points of the inner loop that are done
  static constexpr ax::Gp kEnd = ax::r13;    // of the inner loop's whole trips
};

// Keeps the message of the first instruction that the assembler refused.
struct EmitFailure : aj::ErrorHandler {
  aj::Error error = aj::kErrorOk;
  std::string message;
  void handleError(aj::Error err, const char* text, aj::BaseEmitter*) override {
    if (error == aj::kErrorOk) message = text;
    error = err;
  }
  Status status() const;
};

// Places in the frame for what bodies need: indices of strided accesses, masks of the rest, buffers of calls.
void take_places(Emission& e);
// Saves registers and makes the frame; then the arguments are in kArgs, the bases in rcx.
void enter(Emission& e);
// Registers that hold addresses of accesses, in this order. Scratch: rax, rcx, rdx, rsi.
inline constexpr int kPointerRegisters[] = {14, 15, 5, 8, 9, 10, 11, 7}, kLightRegisters[] = {8, 9, 10, 11, 7};
// A pointer for each access, the first ones in so many of these registers, the others in the frame.
void place_pointers(Emission& e, std::size_t registers = std::size(kPointerRegisters));
void add_to_pointer(Emission& e, std::size_t access, const ax::Mem& step);
// The address of an access at the first point, in its register or its place in the frame.
void set_pointer(Emission& e, std::size_t access);
// Masks of the Rest trip, and lane * stride of strided accesses.
void set_rest_masks(Emission& e);
void set_indices(Emission& e);
void leave(Emission& e);
// Behind whole trips: where points are left, on to a whole `trip` over the last points, some of which are done. Leads
// to `done` when none are left. Where memory of a store may be that of a load it asks, and comes to its end if it is.
void last_points(Emission& e, const aj::Label& trip, const aj::Label& done);
// trip(Trip::Whole) again and again while whole trips of the inner loop are left, then rest_trip or last_points.
template <class Fn>
void inner_trips(Emission& e, Fn trip, bool goes_back = false) {
  const aj::Label done = goes_back ? e.a.newLabel() : aj::Label();
  e.a.xor_(Emission::kIndex.r32(), Emission::kIndex.r32());
  if (e.shape.trips & kWholeTrips) {
    const aj::Label again = e.a.newLabel(), rest = e.a.newLabel();
    ax::Mem whole = e.arg(kArgWhole);
    whole.setSize(8);
    e.a.cmp(whole, 0);
    e.a.je(rest);
    e.a.bind(again);
    trip(Trip::Whole);
    e.a.add(Emission::kIndex, e.shape.lanes);
    e.a.cmp(Emission::kIndex, whole);
    e.a.jl(again);
    if (goes_back) last_points(e, again, done);
    e.a.bind(rest);
  }
  rest_trip(e, trip);
  if (goes_back) e.a.bind(done);
}
// trip(Trip::Rest) for the rest of the points.
template <class Fn>
void rest_trip(Emission& e, Fn trip) {
  if (!(e.shape.trips & kRestTrips)) return;
  const aj::Label done = e.a.newLabel();
  ax::Mem left = e.arg(kArgRest);
  left.setSize(8);
  e.a.cmp(left, 0);
  e.a.je(done);
  trip(Trip::Rest);
  e.a.bind(done);
}
// A loop around: its counter, a place in the frame, begins at 0; each round ends with a step of the counter and goes to
// `head` while there are more of `loop`'s.
void begin_rounds(Emission& e, std::int32_t counter, const aj::Label& head);
void end_rounds(Emission& e, std::int32_t counter, int loop, const aj::Label& head);
// Behind all code: constants, and the size of the frame, which is known now.
void finish(Emission& e, aj::CodeHolder& holder);

}  // namespace tfvm::x86
