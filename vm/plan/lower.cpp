#include "vm/plan/lower.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "jit/region/build.h"
#include "jit/region/complex.h"
#include "vm/layout.h"
#include "vm/plan/sources.h"

namespace tfvm {

Access factor_access(const AttrTable& attrs, AttrId at, std::size_t side, Access operand, std::size_t rank) {
  const Ints batch = attrs.get_ints_at(at, Key::batch, side), contract = attrs.get_ints_at(at, Key::contract, side);
  const std::vector<std::int64_t> own = operand.strides;
  std::size_t free = side == 0 ? batch.size() : rank + batch.size() + contract.size() - own.size();
  std::vector<std::int64_t> strides(rank + contract.size(), 0);
  for (std::size_t d = 0; d < own.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const auto b = std::ranges::find(batch, axis), c = std::ranges::find(contract, axis);
    const auto place = b != batch.end()      ? static_cast<std::size_t>(b - batch.begin())
                       : c != contract.end() ? rank + static_cast<std::size_t>(c - contract.begin())
                                             : free++;
    strides[place] = own[d];
  }
  operand.strides = strides;
  return operand;
}

bool is_dense(const Access& a, Dims dims) {
  return Layout{{dims.begin(), dims.end()}, a.strides, a.offset}.is_row_major();
}

namespace {

bool is_identity(Op op) {
  return op == Op::optimization_barrier || op == Op::stop_gradient || op == Op::name || op == Op::clone;
}

bool is_view(Op op) {
  return is_identity(op) || op == Op::reshape || op == Op::broadcast_to || op == Op::transpose || op == Op::slice ||
         op == Op::reverse || op == Op::full;
}

bool is_nest_reduction(Op op) { return op >= Op::reduce_sum && op <= Op::reduce_or; }

class Lowering {
 public:
  Lowering(const Tables& t, const FlatBody& flat, bool avx512) : t_(t), flat_(flat), b_(flat.body), avx512_(avx512) {}

  Result<Lowered> run() {
    values_.resize(b_.num_values());
    for (std::uint32_t p = 0; p < b_.num_params; ++p) {
      const TypeId type = b_.types[p];
      values_[p] = row_major(add_base({PlanBase::Kind::Param, p, t_.types.bytes(type)}), t_.types.dtype(type), dims(p));
    }
    for (std::uint32_t i = 0; i < b_.num_instrs(); ++i) {
      instr_ = i;
      if (Status s = lower_instr(b_.instr(i)); !s) {
        Error e = std::move(s).error();
        e.loc = t_.debugs.find_loc(flat_.origins[i].debug, flat_.origins[i].instr);
        return e;
      }
    }
    for (std::uint32_t r = 0; r < b_.results.size(); ++r) place_result(r);
    note_sources(out_);
    return std::move(out_);
  }

 private:
  Dims dims(std::uint32_t v) const { return t_.types.dims(b_.types[v]); }
  Dims dims(ValueId v) const { return dims(index(v)); }
  DType dtype(ValueId v) const { return t_.types.dtype(b_.type(v)); }
  Access& access(ValueId v) { return values_[index(v)]; }

  std::uint32_t add_base(PlanBase base) {
    out_.bases.push_back(base);
    return static_cast<std::uint32_t>(out_.bases.size() - 1);
  }
  // Memory of its own for a value.
  const Access& define(ValueId v) {
    return access(v) = row_major(add_base({PlanBase::Kind::Slot, 0, t_.types.bytes(b_.type(v))}), dtype(v), dims(v));
  }

  ItemSource& add_source() {
    out_.sources.emplace_back();
    if (instr_ < flat_.origins.size()) out_.sources.back().origin = flat_.origins[instr_];
    out_.sources.back().instr = instr_;
    return out_.sources.back();
  }

  void add_nest(Nest nest) {
    fold_constants(nest);
    add_source();
    out_.items.emplace_back();
    out_.items.back().nest = std::move(nest);
  }

  // Loads of a constant that is one element at every point become that element.
  void fold_constants(Nest& nest) {
    std::vector<std::uint32_t> loaded;
    for (const NestNode& n : nest.nodes)
      if (n.kind == NestNodeKind::Load) loaded.push_back(nest.accesses[n.access].base);
    for (std::uint32_t base : loaded) {
      if (out_.bases[base].kind != PlanBase::Kind::Const) continue;
      const auto id = static_cast<ConstId>(out_.bases[base].index);
      const Constant& c = t_.consts[id];
      const auto size = size_of(t_.types.dtype(c.type));
      if (is_complex(t_.types.dtype(c.type)) || c.bytes.empty()) continue;
      std::int64_t element = 0;
      bool one = true, first = true;
      for (const NestNode& n : nest.nodes) {
        if (n.kind != NestNodeKind::Load || nest.accesses[n.access].base != base) continue;
        const Access& a = nest.accesses[n.access];
        one = one && std::ranges::all_of(a.strides, [](std::int64_t s) { return s == 0; }) &&
              (first || a.offset == element);
        element = a.offset;
        first = false;
      }
      if (!one && !t_.consts.is_splat(id)) continue;
      if (!one) element = 0;
      std::uint64_t bits = 0;
      std::memcpy(&bits, c.bytes.data() + element * size, static_cast<std::size_t>(size));
      substitute_constant(nest, base, bits);
    }
  }

  Access dense(const Access& a, Dims dims) {
    if (is_dense(a, dims)) return a;
    std::int64_t n = size_of(a.dtype);
    for (std::int64_t d : dims) n *= d;
    const Access copy = row_major(add_base({PlanBase::Kind::Slot, 0, n}), a.dtype, dims);
    if (n > 0) add_copy(dims, a, copy);
    return copy;
  }

  void add_copy(Dims dims, const Access& from, const Access& to) {
    add_nest(is_complex(from.dtype) ? *complex_nest(Op::clone, dims, {&from, 1}, to) : copy_nest(dims, from, to));
  }

  // An effect gives its operand as its result, where it has one.
  void add_effect(const Instr& in, Access operand, const Access& result) {
    FuseItem item;
    item.reads.push_back(operand.base);
    add_source().in.push_back(std::move(operand));
    out_.items.push_back(std::move(item));
    for (std::uint32_t k = 0; k < in.num_results; ++k) access(in.result(k)) = result;
  }

  ItemSource& add_opaque(const Instr& in, std::vector<Access> operands) {
    FuseItem item;
    for (const Access& a : operands) item.reads.push_back(a.base);
    ItemSource& s = add_source();
    s.in = std::move(operands);
    for (std::uint32_t k = 0; k < in.num_results; ++k) s.out.push_back(define(in.result(k)).base);
    item.writes = s.out;
    out_.items.push_back(std::move(item));
    return s;
  }

  std::vector<Access> dense_operands(const Instr& in) {
    std::vector<Access> v;
    for (ValueId o : in.operands) v.push_back(dense(access(o), dims(o)));
    return v;
  }

  Status lower_instr(const Instr& in) {
    if (in.op == Op::constant) return lower_constant(in);
    if (is_view(in.op)) return lower_view(in);
    if (is_elementwise(in.op)) return lower_elementwise(in);
    if (is_nest_reduction(in.op)) return lower_reduction(in);
    if (lower_outer_product(in)) return ok();
    switch (in.op) {
      case Op::iota: {
        const Access& out = define(in.result());
        if (out_.bases[out.base].bytes > 0)
          add_nest(iota_nest(dims(in.result()), t_.attrs.get_int(in.attrs, Key::axis), out));
        return ok();
      }
      case Op::assert_:
        return lower_assert(in);
      case Op::scan:
        return lower_scan(in);
      case Op::call:
      case Op::cond:
      case Op::switch_:
      case Op::while_:
      case Op::tape_scan:
        add_opaque(in, dense_operands(in));
        return ok();
      case Op::print_: {
        const Access x = dense(access(in.operands[0]), dims(in.operands[0]));
        add_effect(in, x, x);
        return ok();
      }
      case Op::reduce: {
        std::vector<Access> operands;
        for (ValueId o : in.operands) operands.push_back(access(o));
        add_opaque(in, std::move(operands));
        return ok();
      }
      default:
        return lower_kernel(in);
    }
  }

  Status lower_constant(const Instr& in) {
    const ConstId id = t_.attrs[in.attrs].constant;
    const auto [it, is_new] = consts_.try_emplace(index(id), 0u);
    if (is_new) it->second = add_base({PlanBase::Kind::Const, index(id), t_.types.bytes(b_.type(in.result()))});
    access(in.result()) = row_major(it->second, dtype(in.result()), dims(in.result()));
    return ok();
  }

  Status lower_view(const Instr& in) {
    for (std::uint32_t k = 0; k < in.num_results; ++k) {
      const ValueId from = in.operands[k], to = in.result(k);
      if (is_identity(in.op)) {
        access(to) = access(from);
        continue;
      }
      const Op op = in.op == Op::full ? Op::broadcast_to : in.op;
      if (auto a = view_access(t_.attrs, op, in.attrs, dims(from), dims(to), access(from))) {
        access(to) = *std::move(a);
        continue;
      }
      const Access copy = dense(access(from), dims(from));
      access(to) = row_major(copy.base, copy.dtype, dims(to));
      access(to).offset = copy.offset;
    }
    return ok();
  }

  // The parts of complex values are views; a real value has none but itself.
  bool lower_part(const Instr& in) {
    const Access x = access(in.operands[0]);
    const bool complex = is_complex(x.dtype);
    if (in.op == Op::real || (in.op == Op::conj && !complex)) {
      access(in.result()) = complex ? part_access(x, 0) : x;
      return true;
    }
    if (in.op != Op::imag) return false;
    if (complex) {
      access(in.result()) = part_access(x, 1);
    } else {
      const Access& out = define(in.result());
      if (out_.bases[out.base].bytes > 0) add_nest(fill_nest(dims(in.result()), 0, out));
    }
    return true;
  }

  Status lower_elementwise(const Instr& in) {
    const ValueId r = in.result();
    if (lower_part(in)) return ok();
    std::vector<Access> operands;
    for (ValueId o : in.operands) operands.push_back(access(o));
    const Access& out = define(r);
    if (is_complex(dtype(r)) || is_complex(operands[0].dtype)) {
      std::optional<Nest> nest = complex_nest(in.op, dims(r), operands, out);
      if (!nest) return no_complex(in.op);
      if (out_.bases[out.base].bytes > 0) add_nest(*std::move(nest));
    } else if (out_.bases[out.base].bytes > 0) {
      add_nest(elementwise_nest(in.op, dtype(r), dims(r), operands, out));
    }
    return ok();
  }

  // A product without contracted axes, or over extents of 1, is elementwise: one step of a chain that starts at 0.
  bool lower_outer_product(const Instr& in) {
    if (in.op != Op::dot_general) return false;
    const DType d = dtype(in.result());
    if ((d != DType::F32 && d != DType::F64) || dtype(in.operands[0]) != d) return false;
    const Dims x_dims = dims(in.operands[0]);
    for (std::int64_t k : t_.attrs.get_ints_at(in.attrs, Key::contract, 0))
      if (x_dims[static_cast<std::size_t>(k)] != 1) return false;
    if (t_.attrs.has(in.attrs, Key::accum) && t_.attrs.get_dtype(in.attrs, Key::accum) != d) return false;
    const Dims out_dims = dims(in.result());
    std::vector<Access> operands;
    for (std::size_t s = 0; s < 2; ++s) {
      Access a = factor_access(t_.attrs, in.attrs, s, access(in.operands[s]), out_dims.size());
      a.strides = std::span<const std::int64_t>(a.strides.data(), out_dims.size());
      operands.push_back(std::move(a));
    }
    const Access& out = define(in.result());
    if (out_.bases[out.base].bytes == 0) return true;
    Nest nest = elementwise_nest(Op::fma, d, out_dims, operands, out);
    NestNode product = nest.nodes.back(), zero;
    zero.kind = NestNodeKind::Constant;
    zero.dtype = d;
    product.in[2] = static_cast<std::uint32_t>(nest.nodes.size() - 1);
    nest.nodes.back() = zero;
    nest.nodes.push_back(product);
    ++nest.stores[0].node;
    add_nest(std::move(nest));
    return true;
  }

  Status lower_reduction(const Instr& in) {
    const ValueId x = in.operands[0];
    const Access from = access(x);
    const Access& out = define(in.result());
    const Ints axes = t_.attrs.get_ints(in.attrs, Key::axes);
    const bool complex = is_complex(from.dtype);
    if (complex && in.op != Op::reduce_sum) return no_complex(in.op);
    if (out_.bases[out.base].bytes > 0)
      add_nest(complex ? complex_sum_nest(dims(x), axes, from, out) : reduce_nest(in.op, dims(x), axes, from, out));
    return ok();
  }

  static Error no_complex(Op op) {
    return {Code::Unsupported, fmt::format("[{}] has no kernel for complex values", name(op))};
  }

  Status lower_assert(const Instr& in) {
    Access p = access(in.operands[0]);
    const Dims d = dims(in.operands[0]);
    if (!d.empty()) {
      const Access all = row_major(add_base({PlanBase::Kind::Slot, 0, 1}), DType::Bool, Dims{});
      std::vector<std::int64_t> axes;
      for (std::size_t k = 0; k < d.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
      add_nest(reduce_nest(Op::reduce_and, d, axes, p, all));
      p = all;
    }
    add_effect(in, p, access(in.operands[0]));
    return ok();
  }

  // Scanned inputs may have any stride from row to row.
  Status lower_scan(const Instr& in) {
    const auto fixed =
        static_cast<std::size_t>(t_.attrs.get_int(in.attrs, Key::consts) + t_.attrs.get_int(in.attrs, Key::carry));
    std::vector<Access> operands;
    for (std::size_t k = 0; k < in.operands.size(); ++k) {
      const ValueId o = in.operands[k];
      Access row = access(o);
      if (k >= fixed) row.strides.erase(row.strides.begin());
      const bool rows = k >= fixed && is_dense(row, dims(o).subspan(1));
      operands.push_back(rows ? access(o) : dense(access(o), dims(o)));
    }
    add_opaque(in, std::move(operands));
    return ok();
  }

  Status lower_kernel(const Instr& in) {
    std::vector<TypeId> operands, results;
    std::vector<Access> accesses;
    for (ValueId o : in.operands) {
      operands.push_back(b_.type(o));
      accesses.push_back(access(o));
    }
    for (std::uint32_t k = 0; k < in.num_results; ++k) results.push_back(b_.type(in.result(k)));
    Result<Kernel> kernel = make_kernel(t_.types, t_.attrs, in.op, in.attrs, operands, results, avx512_);
    if (!kernel) return std::move(kernel).error();
    add_opaque(in, std::move(accesses)).kernel = *std::move(kernel);
    return ok();
  }

  void place_result(std::uint32_t r) {
    const ValueId v = b_.results[r];
    const Access a = access(v);
    PlanBase& base = out_.bases[a.base];
    const std::int64_t bytes = t_.types.bytes(b_.type(v));
    if (bytes == 0) return;
    const bool whole = a.offset == 0 && base.bytes == bytes && is_dense(a, dims(v));
    if (whole && base.kind == PlanBase::Kind::Slot) {
      base.kind = PlanBase::Kind::Result;
      base.index = r;
    } else if (whole && base.kind == PlanBase::Kind::Param) {
      out_.passed.push_back({base.index, r});
    } else {
      instr_ = b_.num_instrs();
      const std::uint32_t to = add_base({PlanBase::Kind::Result, r, bytes});
      add_copy(dims(v), a, row_major(to, a.dtype, dims(v)));
    }
  }

  const Tables& t_;
  const FlatBody& flat_;
  const Body& b_;
  const bool avx512_;
  Lowered out_;
  std::vector<Access> values_;
  std::unordered_map<std::uint32_t, std::uint32_t> consts_;  // ConstId -> base
  std::uint32_t instr_ = 0;
};

}  // namespace

Result<Lowered> lower(const Tables& t, const FlatBody& flat, bool avx512) { return Lowering(t, flat, avx512).run(); }

}  // namespace tfvm
