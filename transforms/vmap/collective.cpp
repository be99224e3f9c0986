// Collectives over a named axis. The vmap that has the name turns them into ops on its batch dim; any other maps them
// lane by lane. What all lanes have in common (a sum, all values) comes out unbatched.
#include <algorithm>
#include <cstring>

#include "transforms/vmap/control.h"

namespace tfvm {

namespace {

constexpr std::int64_t kFirst[] = {0};

bool is_ours(const BatchCtx& c) { return c.attrs()[c.attrs().get(c.in.attrs, Key::axis_name)].str == c.axis.name; }

std::string axis_text(const BatchCtx& c) {
  return "axis \"" + std::string(c.attrs().get_str(c.in.attrs, Key::axis_name)) + "\"";
}

// Another vmap's axis: the op acts on each of our lanes.
void for_each_lane(BatchCtx& c) {
  if (!c.any_batched()) {
    for (ValueId v : c.b.emit_all(c.in.op, c.x, c.in.attrs)) c.push(v, false);
    return;
  }
  AttrId attrs = c.in.attrs;
  for (Key key : {Key::axis, Key::split_axis, Key::concat_axis})
    if (c.attrs().has(attrs, key))
      attrs = c.t().attrs.with(attrs, key, c.t().attrs.of(c.attrs().get_int(attrs, key) + 1));
  c.emit(c.x, attrs);
}

bool has_all_lanes(BatchCtx& c) {
  if (!c.axis.chunk) return true;
  c.b.fail(Code::Type, "[" + std::string(name(c.in.op)) + "] needs all lanes of " + axis_text(c) +
                           " at once, and chunk_size gives only some");
  c.push(kNoValue);
  return false;
}

ValueId constant_of(BatchCtx& c, DType dtype, const void* data, std::size_t bytes) {
  const std::int64_t lanes[] = {c.axis.size};
  const std::span<const std::byte> span(static_cast<const std::byte*>(data), bytes);
  return c.b.constant(c.t().consts.intern(c.t().types.tensor(dtype, Ints(lanes)), span));
}

// sources[to] = from for each pair, −1 where nothing is sent; false after an error.
bool sources_of(BatchCtx& c, std::vector<std::int64_t>& sources) {
  std::vector<std::uint8_t> sent(static_cast<std::size_t>(c.axis.size), 0);
  sources.assign(sent.size(), -1);
  for (AttrId item : c.attrs()[c.attrs().get(c.in.attrs, Key::perm)].items) {
    const Ints pair = c.attrs()[item].ints;
    const std::string text = "[ppermute] [" + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + "] ";
    if (std::ranges::any_of(pair, [&](std::int64_t lane) { return lane < 0 || lane >= c.axis.size; }))
      return c.b.fail(Code::Type,
                      text + "is out of range for " + axis_text(c) + " of size " + std::to_string(c.axis.size)),
             false;
    const auto from = static_cast<std::size_t>(pair[0]), to = static_cast<std::size_t>(pair[1]);
    if (sent[from] || sources[to] >= 0) return c.b.fail(Code::Type, text + "sends or receives a second time"), false;
    sent[from] = 1;
    sources[to] = pair[0];
  }
  return true;
}

}  // namespace

void batch_psum(BatchCtx& c) {
  if (!is_ours(c)) return for_each_lane(c);
  if (!has_all_lanes(c)) return;
  if (c.batched[0]) return c.push(c.b.emit(Op::reduce_sum, {c.x[0]}, {{Key::axes, Ints(kFirst)}}), false);
  if (c.b.failed()) return c.push(kNoValue);
  const ValueId n = c.b.scalar(c.b.dtype(c.x[0]), static_cast<double>(c.axis.size));
  c.push(c.b.emit(Op::mul, {c.x[0], n}), false);
}

// pmax, pmin
void batch_pmax(BatchCtx& c) {
  if (!is_ours(c)) return for_each_lane(c);
  if (!has_all_lanes(c)) return;
  const Op op = c.in.op == Op::pmax ? Op::reduce_max : Op::reduce_min;
  c.push(c.batched[0] ? c.b.emit(op, {c.x[0]}, {{Key::axes, Ints(kFirst)}}) : c.x[0], false);
}

void batch_all_gather(BatchCtx& c) {
  if (!is_ours(c)) return for_each_lane(c);
  if (!has_all_lanes(c)) return;
  const ValueId x = c.with_batch(0);
  if (c.b.failed()) return c.push(kNoValue);
  std::vector<std::int64_t> perm;
  for (std::int64_t d = 1; d < c.b.rank(x); ++d) perm.push_back(d);
  perm.insert(perm.begin() + c.attrs().get_int(c.in.attrs, Key::axis), 0);
  c.push(c.b.emit(Op::transpose, {x}, {{Key::perm, Ints(perm)}}), false);
}

void batch_ppermute(BatchCtx& c) {
  if (!is_ours(c)) return for_each_lane(c);
  if (!has_all_lanes(c)) return;
  std::vector<std::int64_t> sources;
  if (!sources_of(c, sources)) return c.push(kNoValue);
  const std::vector<std::uint8_t> receives = [&] {
    std::vector<std::uint8_t> r;
    for (std::int64_t s : sources) r.push_back(s >= 0);
    return r;
  }();
  const ValueId x = c.with_batch(0);
  const ValueId from = constant_of(c, DType::I64, sources.data(), sources.size() * sizeof(std::int64_t));
  const ValueId moved = c.b.emit(Op::take, {x, from}, {{Key::axis, 0}, {Key::mode, "clip"}});
  if (c.b.failed() || std::ranges::find(receives, 0) == receives.end()) return c.push(moved);
  const ValueId mask = constant_of(c, DType::Bool, receives.data(), receives.size());
  c.push(select_lanes(c, mask, moved, c.b.zeros(c.b.type(x))));
}

// Lane i gets part i of every lane's x: the batch dim and the split dim change roles.
void batch_all_to_all(BatchCtx& c) {
  if (!is_ours(c)) return for_each_lane(c);
  if (!has_all_lanes(c)) return;
  const ValueId x = c.with_batch(0);
  if (c.b.failed()) return c.push(kNoValue);
  const std::int64_t split = c.attrs().get_int(c.in.attrs, Key::split_axis) + 1;
  std::vector<std::int64_t> perm;
  for (std::int64_t d = 1; d < c.b.rank(x); ++d)
    if (d != split) perm.push_back(d);
  perm.insert(perm.begin() + c.attrs().get_int(c.in.attrs, Key::concat_axis), 0);
  perm.insert(perm.begin(), split);
  c.push(c.b.emit(Op::transpose, {x}, {{Key::perm, Ints(perm)}}));
}

void batch_axis_index(BatchCtx& c) {
  if (!is_ours(c)) return for_each_lane(c);
  c.push(c.lane_index());
}

}  // namespace tfvm
