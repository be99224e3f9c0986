#include "vm/trap/nan_trap.h"

#include "vm/trap/bits.h"

namespace tfvm {

namespace {

// The mark of the element, 0 where it has none or is no nan.
std::uint32_t mark_of(const Tensor& t, std::int64_t element) {
  std::uint32_t mark = 0;
  with_nan_format(t.dtype(), [&](auto format, int parts) {
    using F = decltype(format);
    std::int64_t at = t.layout().offset;
    for (std::size_t d = t.dims().size(); d-- > 0;) {
      at += element % t.dims()[d] * t.layout().strides[d];
      element /= t.dims()[d];
    }
    for (int part = 0; part < parts && mark == 0; ++part) {
      const auto x = load_bits<typename F::Bits>(t.base() + at * size_of(t.dtype()) +
                                                 part * static_cast<int>(sizeof(typename F::Bits)));
      if (F::is_nan(x)) mark = F::mark(x);
    }
  });
  return mark;
}

// That of an operand: at the same place, else of its first nan.
std::uint32_t inherited(std::span<const Tensor> operands, const Tensor& out, std::int64_t element) {
  for (const Tensor& x : operands)
    if (x && x.layout().dims == out.layout().dims)
      if (const std::uint32_t mark = mark_of(x, element)) return mark;
  for (const Tensor& x : operands)
    if (const auto k = x ? first_nan(x) : std::nullopt)
      if (const std::uint32_t mark = mark_of(x, *k)) return mark;
  return 0;
}

// Each nan of `out` keeps the mark that it came with, has that of an operand, or what `fresh` gives for it.
template <class Fresh>
void mark_all(Tensor& out, std::span<const Tensor> operands, std::size_t known, Fresh fresh) {
  if (!first_nan(out)) return;
  with_nan_format(out.dtype(), [&](auto format, int parts) {
    using F = decltype(format);
    using Bits = typename F::Bits;
    for_elements(out, [&](std::int64_t k, std::byte* p) {
      for (int part = 0; part < parts; ++part, p += sizeof(Bits)) {
        Bits x = load_bits<Bits>(p);
        if (!F::is_nan(x)) continue;
        std::uint32_t mark = F::mark(x);
        if (mark == 0 || mark > known) mark = inherited(operands, out, k);
        if (mark == 0 || mark > known) mark = fresh(k);
        x = F::with_mark(x, mark);
        std::memcpy(p, &x, sizeof x);
      }
      return true;
    });
  });
}

bool makes_values(EagerStep::Kind k) {
  using Kind = EagerStep::Kind;
  return k == Kind::Plan || k == Kind::Write || k == Kind::Copy || k == Kind::Update || k == Kind::Extern;
}

NanOrigin origin(const EagerRun& run, const EagerCode& code, const EagerStep& s, std::size_t out, const Tensor& t,
                 std::int64_t element) {
  return {code.function, s.origin, s.name, static_cast<std::uint32_t>(out), t.layout().dims, element, run.trips()};
}

}  // namespace

Status NanWatch::look_at_inputs(std::vector<Tensor>& in, FunctionId f, const BudgetRef& budget) {
  for (std::size_t k = 0; k < in.size(); ++k) {
    const auto element = first_nan(in[k]);
    if (!element) continue;
    NanOrigin from{f, {f.debug, kNone<InstrId>}, {}, static_cast<std::uint32_t>(k), in[k].layout().dims, *element, {}};
    if (!live_) {
      found_ = std::move(from);
      return Error(Code::Assert, "nan");
    }
    Result<Tensor> copy = in[k].clone(budget);
    if (!copy) return std::move(copy).error();
    in[k] = *std::move(copy);
    marks_.push_back(std::move(from));
    mark_all(in[k], {}, 0, [&](std::int64_t) { return static_cast<std::uint32_t>(marks_.size()); });
  }
  return ok();
}

Status NanWatch::after(const EagerRun& run, const EagerCode& code, const EagerStep& s, std::span<Tensor> slots) {
  if (!makes_values(s.kind)) return ok();
  std::vector<Tensor> operands;
  for (std::size_t k = 0; k < s.out.size(); ++k) {
    Tensor& out = slots[s.out[k]];
    if (!live_) {
      const auto element = first_nan(out);
      if (!element) continue;
      found_ = origin(run, code, s, k, out, *element);
      return Error(Code::Assert, "nan");
    }
    if (operands.empty())
      for (Slot in : s.in) operands.push_back(slots[in]);
    std::uint32_t made = 0;  // one mark for all that this step makes
    mark_all(out, operands, marks_.size(), [&](std::int64_t element) {
      if (made == 0 && marks_.size() < (1u << 22) - 1) marks_.push_back(origin(run, code, s, k, out, element));
      return made = static_cast<std::uint32_t>(marks_.size());
    });
  }
  return ok();
}

const NanOrigin* NanWatch::origin_of(std::span<const Tensor> results) const {
  std::uint32_t least = 0;
  for (const Tensor& t : results)
    with_nan_format(t.dtype(), [&](auto format, int parts) {
      using F = decltype(format);
      for_elements(t, [&](std::int64_t, const std::byte* p) {
        for (int part = 0; part < parts; ++part) {
          const auto x = load_bits<typename F::Bits>(p + part * static_cast<int>(sizeof(typename F::Bits)));
          const std::uint32_t mark = F::is_nan(x) ? F::mark(x) : 0;
          if (mark != 0 && mark <= marks_.size() && (least == 0 || mark < least)) least = mark;
        }
        return true;
      });
    });
  return least == 0 ? nullptr : &marks_[least - 1];
}

}  // namespace tfvm
