// Cases of windows, at computed places or in rows, and of order.
#include <algorithm>

#include "tests/transforms/op_maker.h"

namespace tfvm::testing {

using namespace letters;

// Of gather, or of the scatter with the given combine: windows of `sizes` out of x at vectors along `vector_dim` of
// idx.
void Maker::window(const D& whole, const D& idx, const D& windows, const D& sizes, const D& offset, const D& dropped,
                   const D& map, std::int64_t vector_dim, std::string_view mode, std::string_view combine) {
  std::int64_t room = 9;
  for (std::int64_t d : map)
    room = std::min(room, whole[static_cast<std::size_t>(d)] - sizes[static_cast<std::size_t>(d)]);
  const OpOperand places = mode == "error" ? i(idx, 0, room) : i(idx, -2, room + 2);
  if (combine.empty())
    return add({x(whole), places}, {{Key::offset_dims, Ints(offset)},
                                    {Key::collapsed_slice_dims, Ints(dropped)},
                                    {Key::start_index_map, Ints(map)},
                                    {Key::index_vector_dim, vector_dim},
                                    {Key::slice_sizes, Ints(sizes)},
                                    {Key::mode, mode}});
  add({x(whole), places, x(windows)}, {{Key::update_window_dims, Ints(offset)},
                                       {Key::inserted_window_dims, Ints(dropped)},
                                       {Key::scatter_dims_to_operand_dims, Ints(map)},
                                       {Key::index_vector_dim, vector_dim},
                                       {Key::combine, combine},
                                       {Key::mode, mode}});
}

void Maker::gather(std::string_view mode, std::string_view combine) {
  window({4, 3}, {5, 1}, {5, 3}, {1, 3}, {1}, {0}, {0}, 1, mode, combine);          // rows
  window({3, 2}, {2, 4}, {4}, {1, 1}, {}, {0, 1}, {1, 0}, 0, mode, combine);        // points
  window({4, 3}, {2, 2}, {2, 2, 2}, {2, 2}, {0, 2}, {}, {0, 1}, 1, mode, combine);  // boxes
  window({4}, {2, 2}, {2, 2}, {1}, {}, {0}, {0}, 2, mode, combine);                 // vectors of one number
  window({2, 3}, {0, 1}, {0, 2}, {1, 2}, {1}, {0}, {0}, 1, mode, combine);          // none at all
}

void Maker::sort(Op op) {
  if (op == Op::searchsorted) {
    for (std::string_view side : {"left", "right"}) {
      add({x({4}), x({})}, {{Key::side, side}});
      add({x({4}), x({2, 3})}, {{Key::side, side}});
      add({x({2, 4}), x({2, 3})}, {{Key::side, side}});
      add({x({0}), x({2})}, {{Key::side, side}});
    }
    return;
  }
  for (bool down : {false, true}) {
    if (op == Op::topk) {
      add({x({2, 4})}, {{Key::k, 3}, {Key::axis, 1}, {Key::largest, down}});
      add({x({4, 2})}, {{Key::k, 0}, {Key::axis, 0}, {Key::largest, down}});
      continue;
    }
    add({x({5})}, {{Key::axis, 0}, {Key::descending, down}});
    add({x({3, 2})}, {{Key::axis, 0}, {Key::descending, down}});
    add({x({2, 70})}, {{Key::axis, 1}, {Key::descending, down}});
    add({x({0, 2})}, {{Key::axis, 0}, {Key::descending, down}});
    if (op != Op::sort) continue;
    add({x({7}), x({7})}, {{Key::axis, 0}, {Key::descending, down}});
    add({x({2, 6}), x({2, 6}), x({2, 6})}, {{Key::axis, 1}, {Key::descending, down}, {Key::num_keys, 2}});
  }
}

void Maker::conv() {
  struct Shape {
    D x, w, strides, low, high, base, dilation;
    std::int64_t groups = 1, batches = 1;
    const char* layout = "channels_first";
  };
  for (const Shape& s : std::vector<Shape>{
           {{2, 3, 5}, {4, 3, 2}, {1}, {0}, {0}, {1}, {1}},
           {{2, 2, 5, 4}, {3, 2, 2, 3}, {2, 1}, {1, 0}, {0, 2}, {1, 1}, {1, 1}},
           {{2, 2, 5}, {3, 2, 2}, {1}, {2}, {1}, {2}, {2}},
           {{2, 2, 6}, {3, 2, 3}, {1}, {-1}, {-1}, {1}, {1}},
           {{1, 4, 5}, {6, 2, 2}, {1}, {0}, {1}, {1}, {1}, 2},
           {{4, 3, 5}, {6, 3, 2}, {2}, {1}, {0}, {1}, {1}, 1, 2},
           {{2, 5, 4, 3}, {2, 2, 2, 3}, {1, 1}, {0, 1}, {0, 0}, {1, 1}, {2, 1}, 1, 1, "channels_last"},
           {{2, 5, 4}, {4, 2, 2}, {1}, {1}, {0}, {1}, {1}, 2, 1, "channels_last"},
           {{2, 3}, {4, 3}, {}, {}, {}, {}, {}},
           {{0, 3, 5}, {4, 3, 2}, {1}, {0}, {0}, {1}, {1}},
           {{2, 0, 5}, {4, 0, 2}, {1}, {0}, {0}, {1}, {1}},
       })
    add({x(s.x), x(s.w)}, {{Key::strides, Ints(s.strides)},
                           {Key::padding, padding(s.low, s.high)},
                           {Key::lhs_dilation, Ints(s.base)},
                           {Key::rhs_dilation, Ints(s.dilation)},
                           {Key::feature_groups, s.groups},
                           {Key::batch_groups, s.batches},
                           {Key::layout, s.layout}});
}

void Maker::reduce_window() {
  for (std::string_view op : {"add", "mul", "max", "min"}) {
    add({x({6})}, {{Key::op, op}, {Key::window, Ints(D{3})}});
    add({x({5, 4})}, {{Key::op, op},
                      {Key::window, Ints(D{2, 3})},
                      {Key::strides, Ints(D{2, 1})},
                      {Key::padding, padding({1, 0}, {0, 2})}});
    add({x({4, 5})}, {{Key::op, op},
                      {Key::window, Ints(D{2, 2})},
                      {Key::padding, padding({1, -1}, {2, 0})},
                      {Key::base_dilation, Ints(D{2, 1})},
                      {Key::window_dilation, Ints(D{3, 2})}});
    add({x({2, 0})}, {{Key::op, op}, {Key::window, Ints(D{1, 2})}, {Key::padding, padding({0, 2}, {0, 1})}});
    add({x({})}, {{Key::op, op}, {Key::window, Ints(D{})}});
  }
}

void Maker::select_and_scatter() {
  add({x({6}), x({3})}, {{Key::window, Ints(D{2})}, {Key::strides, Ints(D{2})}});
  add({x({5, 4}), x({3, 4})},
      {{Key::window, Ints(D{2, 3})}, {Key::strides, Ints(D{2, 1})}, {Key::padding, padding({1, 0}, {0, 2})}});
  add({x({2, 0}), x({2, 2})}, {{Key::window, Ints(D{1, 2})}, {Key::padding, padding({0, 2}, {0, 1})}});
}

}  // namespace tfvm::testing
