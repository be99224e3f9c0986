// Cases of control flow, of collectives and of ops that only say something about a value.
#include "tests/transforms/op_maker.h"

namespace tfvm::testing {

using namespace letters;

namespace {

// Two functions of two values, smooth and not linear in the first where they are floats.
ValueId product(Builder& b, ValueId v, ValueId w) {
  const DType d = b.dtype(v);
  if (d == DType::Bool) return b.emit(Op::xor_, {v, w});
  return b.emit(Op::mul, {is_float(d) ? b.emit(Op::sin, {v}) : v, w});
}
ValueId sum_of(Builder& b, ValueId v, ValueId w) {
  const DType d = b.dtype(v);
  if (d == DType::Bool) return b.emit(Op::or_, {v, w});
  return b.emit(Op::add, {is_float(d) ? b.emit(Op::square, {v}) : v, w});
}

}  // namespace

void Maker::control(Op op) {
  for (const D& dims : {D{}, D{2}, D{0}}) {
    const OpOperand v = x(dims), w = x(dims);
    const FunctionId f = function({type(v), type(w)}, [](Builder& b, const Params& a) {
      return Params{product(b, a[0], a[1]), b.emit(Op::clone, {a[1]})};
    });
    const FunctionId g = function({type(v), type(w)}, [](Builder& b, const Params& a) {
      return Params{sum_of(b, a[1], a[0]), product(b, a[1], a[1])};
    });
    const AttrId branches[] = {t.attrs.of(f), t.attrs.of(g), t.attrs.of(f)};
    if (op == Op::call) add({v, w}, {{Key::callee, f}});
    if (op == Op::cond) add({p({}), v, w}, {{Key::then, f}, {Key::else_, g}});
    if (op == Op::switch_) add({i({}, -1, 3), v, w}, {{Key::branches, t.attrs.list(branches)}});
    for (std::int64_t length : {3, 0}) {
      if (op != Op::scan) break;
      D stacked{length};
      stacked.insert(stacked.end(), dims.begin(), dims.end());
      // (constant, carry, element) -> (carry, output)
      const FunctionId step = function({type(w), type(v), type(v)}, [](Builder& b, const Params& a) {
        return Params{sum_of(b, product(b, a[1], a[0]), a[2]), product(b, a[2], a[1])};
      });
      for (bool reverse : {false, true})
        add({w, v, x(stacked)},
            {{Key::body, step}, {Key::consts, 1}, {Key::carry, 1}, {Key::length, length}, {Key::reverse, reverse}});
    }
    if (op != Op::while_) continue;
    // while (j < n) (constant, j, carry) -> (j + 1, carry); j starts at 0 or above n.
    const OpOperand n = i({}, 0, 3), j = i({}, 0, 1);
    const FunctionId goes_on = function({type(n), type(j), type(v)}, [](Builder& b, const Params& a) {
      return Params{b.emit(Op::lt, {a[1], a[0]})};
    });
    const FunctionId step = function({type(w), type(j), type(v)}, [](Builder& b, const Params& a) {
      return Params{b.emit(Op::add, {a[1], b.scalar_int(b.dtype(a[1]), 1)}), product(b, a[2], a[0])};
    });
    add({n, w, j, v}, {{Key::cond, goes_on}, {Key::body, step}, {Key::cond_consts, 1}, {Key::body_consts, 1}});
  }
}

// Of three lanes, one and none.
void Maker::collective(Op op) {
  const auto name = std::string_view("i");
  for (std::int64_t lanes : {3, 1, 0}) {
    const auto both = [&](std::initializer_list<AttrArg> attrs) {
      add({x({lanes})}, attrs);
      add({x({lanes, 2, 3})}, attrs);
      add({x({lanes, 2, 0})}, attrs);
    };
    if (op == Op::psum || op == Op::pmax || op == Op::pmin) both({{Key::axis_name, name}});
    if (op == Op::all_gather) {
      both({{Key::axis_name, name}, {Key::axis, 0}, {Key::axis_size, lanes}});
      add({x({lanes, 2})}, {{Key::axis_name, name}, {Key::axis, 1}, {Key::axis_size, lanes}});
    }
    if (op == Op::ppermute && lanes == 3) {
      both({{Key::axis_name, name}, {Key::perm, list({0, 1}, {2, 0})}});
      both({{Key::axis_name, name}, {Key::perm, list({1, 1}, {0, 2})}});
    }
    if (op == Op::all_to_all)
      for (std::int64_t to : {0, 1})
        add({x({lanes, lanes, 2})},
            {{Key::axis_name, name}, {Key::split_axis, 0}, {Key::concat_axis, to}, {Key::axis_size, lanes}});
  }
  for (OpCase& c : out) c.lanes = true;
}

void Maker::meta(Op op) {
  for (const D& dims : {D{}, D{2, 3}, D{0, 2}}) {
    if (op == Op::name) add({x(dims)}, {{Key::name, std::string_view("here")}});
    if (op == Op::stop_gradient || op == Op::clone) add({x(dims)});
    if (op == Op::optimization_barrier) add({x(dims), x({2})});
  }
}

}  // namespace tfvm::testing
