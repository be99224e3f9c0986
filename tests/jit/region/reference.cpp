#include "reference.h"

#include <cstring>
#include <functional>
#include <map>

#include "jit/region/block_op.h"

namespace tfvm {

namespace {

using Element = std::uint64_t;  // the bits of one element, zero-extended
using Point = std::vector<std::int64_t>;

Element read(const std::byte* p, DType d) {
  Element e = 0;
  std::memcpy(&e, p, static_cast<std::size_t>(size_of(d)));
  return e;
}

Element cast(Element e, DType from, DType to) {
  Element out = 0;
  find_cast(from, to)(&out, &e, nullptr, nullptr, 1);
  return out;
}

DType held(DType d) { return is_half(d) ? DType::F32 : d; }

std::int64_t place(const Access& a, const Point& p) {
  std::int64_t at = a.offset;
  for (std::size_t d = 0; d < p.size(); ++d) at += a.strides[d] * p[d];
  return at;
}

Element evaluate_op(const Nest& nest, const NestNode& n, const std::vector<Element>& values) {
  Element in[3] = {0, 0, 0};
  DType d = DType::F32;
  for (std::size_t k = 0; k < 3; ++k) {
    if (n.in[k] == kNoNode) continue;
    in[k] = values[n.in[k]];
    d = nest.nodes[n.in[k]].dtype;
  }
  if (n.op == Op::cast) return cast(in[0], d, n.dtype);
  if (n.op == Op::bitcast) return in[0];
  Element out = 0;
  if (!is_half(d) || n.op == Op::nextafter || n.op == Op::select) {
    find_block_op(n.op, d)(&out, &in[0], &in[1], &in[2], 1);
    return out;
  }
  for (Element& e : in) e = cast(e, d, DType::F32);
  find_block_op(n.op, DType::F32)(&out, &in[0], &in[1], &in[2], 1);
  return is_half(n.dtype) ? cast(out, DType::F32, n.dtype) : out;
}

Element evaluate(const Nest& nest, const NestNode& n, const Point& p, const std::vector<Element>& values,
                 std::byte* const* bases) {
  switch (n.kind) {
    case NestNodeKind::Load: {
      const Access& a = nest.accesses[n.access];
      if (n.in[0] != kNoNode && values[n.in[0]] == 0) return 0;
      const auto moved = n.in[1] == kNoNode ? 0 : static_cast<std::int32_t>(values[n.in[1]]);
      return read(bases[a.base] + (place(a, p) + moved) * size_of(a.dtype), a.dtype);
    }
    case NestNodeKind::Constant:
      return n.bits;
    case NestNodeKind::Iota:
      return cast(static_cast<Element>(place(nest.accesses[n.access], p)), DType::I64, n.dtype);
    case NestNodeKind::Op:
      break;
  }
  return evaluate_op(nest, n, values);
}

void for_each_point(const Nest& nest, const std::function<void(const Point&)>& fn) {
  Point p(nest.extents.size(), 0);
  for (std::int64_t e : nest.extents)
    if (e == 0) return;
  while (true) {
    fn(p);
    std::size_t d = p.size();
    while (d-- > 0) {
      if (++p[d] < nest.extents[d]) break;
      p[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

using Combine = std::function<Element(Element, Element)>;

// Adjacent pairs, level by level, an odd last one passing through.
Element tree(std::vector<Element> v, const Combine& combine) {
  while (v.size() > 1) {
    std::vector<Element> up;
    for (std::size_t i = 0; i + 1 < v.size(); i += 2) up.push_back(combine(v[i], v[i + 1]));
    if (v.size() % 2) up.push_back(v.back());
    v = std::move(up);
  }
  return v[0];
}

Element block_of_row(const std::vector<Element>& v, std::size_t begin, std::size_t end, const Combine& combine) {
  std::vector<Element> lanes;
  for (std::size_t i = begin; i < end; ++i) {
    if (i - begin < 32)
      lanes.push_back(v[i]);
    else
      lanes[(i - begin) % 32] = combine(lanes[(i - begin) % 32], v[i]);
  }
  for (std::size_t w = 16; w > 0; w /= 2)
    for (std::size_t j = 0; j < w && j + w < lanes.size(); ++j) lanes[j] = combine(lanes[j], lanes[j + w]);
  return lanes[0];
}

Element row_value(const std::vector<Element>& v, const Combine& combine) {
  std::vector<Element> blocks;
  for (std::size_t b = 0; b < v.size(); b += 2048)
    blocks.push_back(block_of_row(v, b, std::min(v.size(), b + 2048), combine));
  return tree(blocks, combine);
}

Element rows_value(const std::vector<Element>& v, const Combine& combine) {
  std::vector<Element> groups;
  for (std::size_t b = 0; b < v.size(); b += 64) {
    Element acc = v[b];
    for (std::size_t i = b + 1; i < std::min(v.size(), b + 64); ++i) acc = combine(acc, v[i]);
    groups.push_back(acc);
  }
  return tree(groups, combine);
}

Element identity(Op op, DType d) {
  if (op == Op::reduce_sum || op == Op::reduce_or) return 0;
  const double inf = 1.0 / 0.0;
  if (op == Op::reduce_and) return d == DType::Bool ? 1 : ~Element{0};
  const double value = op == Op::reduce_prod ? 1 : op == Op::reduce_max ? -inf : inf;
  Element bits;
  std::memcpy(&bits, &value, sizeof bits);
  return cast(bits, DType::F64, d);  // saturates to the least or greatest integer
}

Op element_op(Op reduction) {
  switch (reduction) {
    case Op::reduce_sum:
      return Op::add;
    case Op::reduce_prod:
      return Op::mul;
    case Op::reduce_max:
      return Op::max;
    case Op::reduce_min:
      return Op::min;
    case Op::reduce_and:
      return Op::and_;
    default:
      return Op::or_;
  }
}

// How many trailing loops form a row: those reduced at the end, extents of 1 left out.
std::size_t row_begin(const Nest& nest) {
  std::size_t d = nest.extents.size();
  while (d > 0 && (nest.extents[d - 1] == 1 || nest.reduced[d - 1])) --d;
  return d;
}

struct Collected {
  std::vector<Element> row;  // of the outer point at hand
  std::vector<Element> rows;
  Point outer;
};

void reduce(const Nest& nest, const Reduction& r, const std::function<Element(const Point&)>& value,
            std::byte* const* bases) {
  const DType d = nest.nodes[r.node].dtype, acc = held(d);
  const BlockFn fn = find_block_op(element_op(r.op), acc);
  const Combine combine = [&](Element a, Element b) {
    Element out = 0;
    fn(&out, &a, &b, nullptr, 1);
    return out;
  };
  // Results start as identities; points of one result are met in row-major order.
  Nest kept = nest;
  for (std::size_t k = 0; k < kept.extents.size(); ++k)
    if (nest.reduced[k]) kept.extents[k] = 1;
  std::map<std::int64_t, Collected> results;
  const auto store = [&](std::int64_t at, Element e) {
    std::memcpy(bases[r.to.base] + at * size_of(r.to.dtype), &e, static_cast<std::size_t>(size_of(r.to.dtype)));
  };
  for_each_point(kept, [&](const Point& p) { store(place(r.to, p), identity(r.op, d)); });
  const std::size_t begin = row_begin(nest);
  const auto close = [&](Collected& c) {
    if (!c.row.empty()) c.rows.push_back(row_value(c.row, combine));
    c.row.clear();
  };
  for_each_point(nest, [&](const Point& p) {
    Collected& c = results[place(r.to, p)];
    const Point outer(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(begin));
    if (c.outer != outer) close(c);
    c.outer = outer;
    c.row.push_back(cast(value(p), d, acc));
  });
  for (auto& [at, c] : results) {
    close(c);
    store(at, cast(rows_value(c.rows, combine), acc, d));
  }
}

}  // namespace

void reference_run(const Nest& nest, std::byte* const* bases) {
  std::map<Point, std::vector<Element>> all;
  for_each_point(nest, [&](const Point& p) {
    std::vector<Element> values;
    for (const NestNode& n : nest.nodes) values.push_back(evaluate(nest, n, p, values, bases));
    all[p] = values;
  });
  for (const Reduction& r : nest.reductions)
    reduce(
        nest, r, [&](const Point& p) { return all[p][r.node]; }, bases);
  for_each_point(nest, [&](const Point& p) {
    for (const Store& s : nest.stores)
      std::memcpy(bases[s.to.base] + place(s.to, p) * size_of(s.to.dtype), &all[p][s.node],
                  static_cast<std::size_t>(size_of(s.to.dtype)));
  });
}

}  // namespace tfvm
