#include "vm/print.h"

namespace tfvm {

namespace {

class Printer {
 public:
  Printer(const Tensor& t, const PrintOptions& o) : t_(t), o_(o), cut_(!o.full && t.elements() > o.threshold) {}
  std::string run() {
    if (t_.rank() == 0) return element_text(t_.dtype(), t_.data());
    list(0, t_.data());
    return std::move(out_);
  }

 private:
  // Depth is the rank of a type.
  void list(std::size_t axis, const std::byte* p) {
    const Layout& x = t_.layout();
    out_ += '[';
    for (std::int64_t i = 0; i < x.dims[axis]; ++i) {
      if (i > 0) out_ += ", ";
      if (cut_ && x.dims[axis] > 2 * o_.edge && i == o_.edge) {
        out_ += "…, ";
        i = x.dims[axis] - o_.edge;
      }
      const std::byte* item = p + i * x.strides[axis] * size_of(t_.dtype());
      if (axis + 1 == x.dims.size()) {
        out_ += element_text(t_.dtype(), item);
      } else {
        list(axis + 1, item);
      }
    }
    out_ += ']';
  }

  const Tensor& t_;
  const PrintOptions& o_;
  const bool cut_;
  std::string out_;
};

// Nesting shows no dim behind one of extent 0.
Tensor shown(const Tensor& t) {
  std::size_t k = 0;
  while (k < t.layout().dims.size() && t.layout().dims[k] != 0) ++k;
  if (k == t.layout().dims.size()) return t;
  Layout x = t.layout();
  x.dims.resize(k + 1);
  x.strides.resize(k + 1);
  return t.with_layout(std::move(x));
}

}  // namespace

std::string print_literal(const Tensor& t, const PrintOptions& options) {
  const Tensor s = shown(t);
  return Printer(s, options).run();
}

std::string print(const Tensor& t, const PrintOptions& options) {
  return t.type_text() + ' ' + print_literal(t, options);
}

}  // namespace tfvm
