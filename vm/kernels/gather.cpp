// gather, scatter: windows of x at places that index vectors give (StableHLO's dimension numbers). A vector is resolved
// before its window is touched: mode "error" reports the first entry outside (a negative one is), "clip" moves the
// window so that it fits, "fill" reads NaN, 0 or false and drops writes. No element outside is ever touched.
#include <vector>

#include "vm/kernels/index_modes.h"
#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

using Places = std::vector<std::int32_t>;

struct WindowParams {
  IndexMode mode;
  Combine combine;
  std::int32_t vector_dim;         // of the indices; their rank where vectors are single numbers
  Places map;                      // entry of a vector -> dim of x
  std::vector<std::int64_t> room;  // per entry: the largest start; negative where no window fits
  Places batch, window;            // dims of the windows' tensor: gather's result, scatter's updates
  Places inside;                   // dims of x that windows have, one for each of `window`
};

// A window as a strided box, in x and in the windows' tensor.
struct Box {
  std::int32_t rank = 0;
  std::int64_t elements = 1;
  std::int64_t dims[kMaxRank], in_x[kMaxRank], in_windows[kMaxRank];
};

Box box_of(const View& x, const View& windows, const WindowParams& p) {
  Box b;
  for (std::size_t k = 0; k < p.window.size(); ++k, ++b.rank) {
    b.dims[k] = windows.dims[p.window[k]];
    b.in_windows[k] = windows.strides[p.window[k]];
    b.in_x[k] = x.strides[p.inside[k]];
    b.elements *= b.dims[k];
  }
  return b;
}

// Row-major position, in the indices, of entry `j` of the vector at hand.
std::int64_t entry_position(const View& idx, const WindowParams& p, const Walk<2>& w, std::size_t j) {
  std::int64_t at = 0;
  for (std::int32_t d = 0, from = 0; d < idx.rank; ++d)
    at = at * idx.dims[d] + (d == p.vector_dim ? static_cast<std::int64_t>(j) : w.place(from++));
  return at;
}

// Calls each(is it inside, its offset in x, its offset in the windows' tensor) for the windows, in row-major order of
// the indices.
template <class Each>
void for_windows(const View& x, const View& idx, const View& windows, const WindowParams& p, IndexFailure* failure,
                 Each each) {
  std::int64_t dims[kMaxRank], is[kMaxRank], ws[kMaxRank];
  for (std::size_t k = 0; k < p.batch.size(); ++k) {
    dims[k] = windows.dims[p.batch[k]];
    ws[k] = windows.strides[p.batch[k]];
    is[k] = idx.strides[k + (static_cast<std::int32_t>(k) >= p.vector_dim ? 1 : 0)];
  }
  const std::int64_t size = size_of(idx.dtype), step = p.vector_dim < idx.rank ? idx.strides[p.vector_dim] : 0;
  Walk<2> w(static_cast<std::int32_t>(p.batch.size()), dims);
  w.strides(0, is);
  w.strides(1, ws);
  for (; w.more(); w.next()) {
    std::int64_t at = 0;
    bool inside = true;
    for (std::size_t j = 0; j < p.map.size(); ++j) {
      const std::int64_t found =
          load_index(idx.dtype, idx.data + (w.at(0) + static_cast<std::int64_t>(j) * step) * size);
      std::int64_t i = idx.dtype == DType::U64 && found < 0 ? INT64_MAX : found;
      if (p.mode == IndexMode::Clip && p.room[j] >= 0) i = std::clamp<std::int64_t>(i, 0, p.room[j]);
      if (i >= 0 && i <= p.room[j]) {
        at += i * x.strides[p.map[j]];
        continue;
      }
      inside = false;
      if (p.mode != IndexMode::Error) break;
      const std::int64_t position = entry_position(idx, p, w, j);
      if (!failure->failed || position < failure->position) *failure = {true, position, found, p.room[j] + 1};
      break;
    }
    each(inside, at, w.at(1));
  }
}

void run_gather(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const WindowParams*>(params);
  const View &x = call.in[0], &idx = call.in[1], &out = call.out[0];
  const std::int64_t size = size_of(out.dtype);
  const Box box = box_of(x, out, p);
  alignas(16) std::byte nothing[16] = {};
  outside_element(x.dtype, nothing);
  const std::int64_t still[kMaxRank] = {};
  for_windows(x, idx, out, p, call.failure, [&](bool inside, std::int64_t from, std::int64_t to) {
    const std::byte* source = inside ? x.data + from * size : nothing;
    if (box.elements == 1)
      std::memcpy(out.data + to * size, source, static_cast<std::size_t>(size));
    else
      copy_strided(box.rank, box.dims, out.data + to * size, box.in_windows, source, inside ? box.in_x : still, size);
  });
}

// Each window element in its turn, so updates of one place come in row-major order of the indices.
void combine_windows(const KernelCall& call, const WindowParams& p) {
  const View &idx = call.in[1], &u = call.in[2], &out = call.out[0];
  const Box box = box_of(out, u, p);
  const std::int32_t outer = box.rank > 0 ? box.rank - 1 : 0;
  const bool has_row = box.rank > 0;
  const std::int64_t n = has_row ? box.dims[outer] : 1, size = size_of(out.dtype);
  const std::int64_t to_step = has_row ? box.in_x[outer] : 0, from_step = has_row ? box.in_windows[outer] : 0;
  const CombineRow combine = combine_row(out.dtype);
  for_windows(out, idx, u, p, call.failure, [&](bool inside, std::int64_t at, std::int64_t of) {
    if (!inside) return;
    Walk<2> w(outer, box.dims);
    w.strides(0, box.in_x);
    w.strides(1, box.in_windows);
    for (; w.more(); w.next())
      combine(p.combine, out.data + (at + w.at(0)) * size, to_step, u.data + (of + w.at(1)) * size, from_step, n,
              nullptr);
  });
}

void run_scatter(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const WindowParams*>(params);
  const View &idx = call.in[1], &u = call.in[2], &out = call.out[0];
  copy_view(out, call.in[0]);
  if (elements(out) == 0)  // no window fits, but indices may fail
    return for_windows(out, idx, u, p, call.failure, [](bool, std::int64_t, std::int64_t) {});
  if (p.combine != Combine::Set) return combine_windows(call, p);
  const Box box = box_of(out, u, p);
  const std::int64_t size = size_of(out.dtype);
  for_windows(out, idx, u, p, call.failure, [&](bool inside, std::int64_t at, std::int64_t of) {
    if (!inside) return;
    if (box.elements == 1)
      std::memcpy(out.data + at * size, u.data + of * size, static_cast<std::size_t>(size));
    else
      copy_strided(box.rank, box.dims, out.data + at * size, box.in_x, u.data + of * size, box.in_windows, size);
  });
}

struct WindowKeys {
  Key window, dropped, map;
};

Places to_places(Ints v) { return {v.begin(), v.end()}; }

Places others(std::size_t rank, const Places& v) {
  Places out;
  for (std::int32_t d = 0; d < static_cast<std::int32_t>(rank); ++d)
    if (std::ranges::find(v, d) == v.end()) out.push_back(d);
  return out;
}

Result<Kernel> make_windows(const KernelRequest& r, void (*run)(const KernelCall&, const void*), const WindowKeys& keys,
                            Dims windows) {
  if (is_complex(r.dtype(0))) return no_complex(r);
  const Dims x = r.dims(0);
  WindowParams p;
  p.mode = index_mode(r);
  p.combine = r.op == Op::scatter ? combine_of(r) : Combine::Set;
  p.vector_dim = static_cast<std::int32_t>(r.attrs.get_int(r.at, Key::index_vector_dim));
  p.map = to_places(r.attrs.get_ints(r.at, keys.map));
  p.window = to_places(r.attrs.get_ints(r.at, keys.window));
  p.batch = others(windows.size(), p.window);
  p.inside = others(x.size(), to_places(r.attrs.get_ints(r.at, keys.dropped)));
  std::vector<std::int64_t> sizes(x.size(), 1);
  for (std::size_t k = 0; k < p.inside.size(); ++k)
    sizes[static_cast<std::size_t>(p.inside[k])] = windows[static_cast<std::size_t>(p.window[k])];
  for (std::int32_t d : p.map) p.room.push_back(x[static_cast<std::size_t>(d)] - sizes[static_cast<std::size_t>(d)]);
  return kernel_of(run, std::move(p));
}

}  // namespace

Result<Kernel> make_gather(const KernelRequest& r) {
  return make_windows(r, run_gather, {Key::offset_dims, Key::collapsed_slice_dims, Key::start_index_map},
                      r.types.dims(r.results[0]));
}

Result<Kernel> make_scatter(const KernelRequest& r) {
  return make_windows(r, run_scatter,
                      {Key::update_window_dims, Key::inserted_window_dims, Key::scatter_dims_to_operand_dims},
                      r.dims(2));
}

}  // namespace tfvm
