#pragma once
// The storages of a function that is made functional: a base is the present value of one, row-major, with a generation
// that counts its writes. A value of the full function is a place in a base: reading it replays its chain of views on
// the base of now, writing it puts the new value back through them.

#include "functionalize/view.h"

namespace tfvm::functional {

struct Ref {
  std::uint32_t base = 0;
  Chain chain;  // empty: the base itself
};

class Bases {
 public:
  explicit Bases(Builder& b) : b_(b) {}

  std::uint32_t add(ValueId v);
  ValueId now(std::uint32_t base) const { return bases_[base].now; }
  TypeId type(std::uint32_t base) const { return bases_[base].type; }
  void set(std::uint32_t base, ValueId v);  // the next generation

  ValueId read(const Ref& r);
  // Fails with "[op] … overlap …" where two elements of the view stand at one place.
  void write(const Ref& r, ValueId u, bool inplace, std::string_view op);
  bool is_whole(const Ref& r);  // of a place that was written: all elements of a base that has some?
  // The view of r that `v` is; fails where its strides don't allow it, or where it leaves the storage.
  Ref view(const Ref& r, const View& v);

  // How r lies over its base; nullopt after a failure.
  std::optional<Strided> lie(const Ref& r);

 private:
  struct Seen {  // what a chain gives in one generation
    Chain chain;
    std::uint32_t generation;
    ValueId value;
  };
  struct Base {
    ValueId now;
    TypeId type;
    std::uint32_t generation = 0;
    std::vector<Seen> seen;
  };
  ValueId replay(Base& base, std::span<const View> chain);
  bool overlaps_within(const Ref& r);  // does a link before the last?
  ValueId put_at(const Base& base, const Strided& place, ValueId u, bool inplace);
  void remember(Base& base, std::span<const View> chain, ValueId v);
  ValueId fail(const Error& e) { return b_.fail(e.code, e.message); }

  Builder& b_;
  std::vector<Base> bases_;
};

}  // namespace tfvm::functional
