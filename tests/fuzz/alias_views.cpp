// Views of a random program: every view op of the language, with the layout that it gives.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/fuzz/alias_maker.h"
#include "vm/eager/view.h"

namespace tfvm::test {

namespace {
std::string text_of(const std::vector<std::int64_t>& v) { return fmt::format("[{}]", fmt::join(v, ", ")); }
}  // namespace

void AliasMaker::view() {
  const AliasValue v = any();
  const Layout& x = v.layout;
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  const std::int64_t axis = rank ? pick(0, rank - 1) : 0;
  const auto at = static_cast<std::size_t>(axis);
  Layout y = x;
  switch (rank == 0 ? 9 : pick(0, 10)) {
    case 0: {
      Dimensions start, limit, stride;
      for (std::int64_t d : x.dims) {
        start.push_back(pick(0, std::max<std::int64_t>(d - 1, 0)));
        limit.push_back(pick(start.back(), d));
        stride.push_back(pick(1, 2));
      }
      return add_view(v, sliced(x, start, limit, stride),
                      fmt::format("slice {} {{start={}, limit={}, stride={}}}", v.name, text_of(start), text_of(limit),
                                  text_of(stride)));
    }
    case 1: {
      if (x.dims[at] == 0) return;
      const std::int64_t index = pick(0, x.dims[at] - 1);
      y.offset += index * x.strides[at];
      y.dims.erase(y.dims.begin() + axis), y.strides.erase(y.strides.begin() + axis);
      return add_view(v, y, fmt::format("select {} {{axis={}, index={}}}", v.name, axis, index));
    }
    case 2: {
      const std::int64_t start = pick(0, x.dims[at]), length = pick(0, x.dims[at] - start);
      if (length > 0) y.offset += start * x.strides[at];
      y.dims[at] = length;
      return add_view(v, y, fmt::format("narrow {} {{axis={}, start={}, length={}}}", v.name, axis, start, length));
    }
    case 3: {
      Dimensions perm(x.dims.size());
      for (std::size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<std::int64_t>(k);
      std::ranges::shuffle(perm, rng_);
      return add_view(v, transposed(x, perm), fmt::format("permute {} {{perm={}}}", v.name, text_of(perm)));
    }
    case 4: {
      Dimensions dims = x.dims;
      dims.insert(dims.begin() + axis, 1);
      if (const auto layout = reshaped(x, dims))
        return add_view(v, *layout, fmt::format("unsqueeze {} {{axis={}}}", v.name, axis));
      return;
    }
    case 5: {
      const std::int64_t n = x.elements();
      Dimensions dims{n};
      if (n > 0 && n % 2 == 0 && pick(0, 1)) dims = {2, n / 2};
      if (n > 0 && n % 3 == 0 && pick(0, 1)) dims = {n / 3, 3};
      if (const auto layout = reshaped(x, dims))
        return add_view(v, *layout, fmt::format("view {} {{shape={}}}", v.name, text_of(dims)));
      return;
    }
    case 6: {
      Dimensions dims = x.dims;
      dims.insert(dims.begin(), 2);
      return add_view(v, broadcast(x, dims), fmt::format("expand {} {{shape={}}}", v.name, text_of(dims)));
    }
    case 7: {
      if (rank != 2) return;
      const std::int64_t n = std::min(x.dims[0], x.dims[1]);
      return add_view(v, Layout{{n}, {x.strides[0] + x.strides[1]}, x.offset},
                      fmt::format("diagonal {} {{offset=0, axis1=0, axis2=1}}", v.name));
    }
    case 8: {
      const std::int64_t size = pick(0, x.dims[at]), step = pick(1, 3);
      y.dims[at] = (x.dims[at] - size) / step + 1;
      y.dims.push_back(size), y.strides.push_back(x.strides[at]);
      y.strides[at] *= step;
      return add_view(v, y, fmt::format("unfold {} {{axis={}, size={}, step={}}}", v.name, axis, size, step));
    }
    case 9:
      return add_view(v, x, fmt::format("alias {}", v.name));
    default: {
      const Layout s{{pick(1, 3), pick(1, 3)}, {pick(0, 4), pick(1, 3)}, pick(0, 3)};
      if (extent(s).end > v.room) return;
      return add_view(v, s,
                      fmt::format("as_strided {} {{shape={}, strides={}, offset={}}}", v.name, text_of(s.dims),
                                  text_of(s.strides), s.offset));
    }
  }
}

}  // namespace tfvm::test
