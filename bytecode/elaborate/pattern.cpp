#include "bytecode/elaborate/pattern.h"

#include <algorithm>

namespace tfvm {

namespace {

bool class_has(TypeForm form, DType d) {
  if (form == TypeForm::Float) return is_float(d);
  if (form == TypeForm::Int) return is_int(d);
  return true;
}

Bindings::Class* find_class(Bindings& b, const TypePattern& p) {
  for (Bindings::Class& c : b.classes)
    if (c.form == p.form && c.number == p.number) return &c;
  return nullptr;
}

bool match_dtype(const TypePattern& p, DType d, Bindings& b) {
  if (p.form == TypeForm::DType) return p.dtype == d;
  if (const Bindings::Class* c = find_class(b, p)) return c->dtype == d;
  if (!class_has(p.form, d)) return false;
  b.classes.push_back({p.form, p.number, d});
  return true;
}

bool match_dim(Tables& t, const DimPattern& d, std::int64_t size, Bindings& b) {
  if (d.kind == DimKind::Number) return d.number == size;
  if (const auto bound = b.attrs.find(d.name)) {
    const Attr& a = t.attrs[*bound];
    return a.kind == AttrKind::Int && a.i == size;
  }
  b.attrs.names.emplace_back(d.name, t.attrs.of(size));
  return true;
}

bool match_rest(Tables& t, const DimPattern& d, Dims sizes, Bindings& b) {
  if (d.name == kNone<StrId>) return true;
  if (const auto bound = b.attrs.find(d.name)) {
    const Attr& a = t.attrs[*bound];
    return a.kind == AttrKind::Ints && std::ranges::equal(a.ints, sizes);
  }
  b.attrs.names.emplace_back(d.name, t.attrs.ints(sizes));
  return true;
}

bool match_dims(Tables& t, std::span<const DimPattern> p, Dims dims, Bindings& b) {
  const auto any = std::ranges::find(p, DimKind::Any, &DimPattern::kind);
  const bool open = any != p.end();
  if (open ? dims.size() + 1 < p.size() : dims.size() != p.size()) return false;
  const std::size_t before = static_cast<std::size_t>(any - p.begin()), after = open ? p.size() - before - 1 : 0;
  bool fits = true;
  for (std::size_t k = 0; k < before; ++k) fits = fits && match_dim(t, p[k], dims[k], b);
  if (!open) return fits;
  fits = fits && match_rest(t, *any, dims.subspan(before, dims.size() - before - after), b);
  for (std::size_t k = 0; k < after; ++k)
    fits = fits && match_dim(t, p[before + 1 + k], dims[dims.size() - after + k], b);
  return fits;
}

// What the names of the pattern are bound to: " with n = 2, f = f64".
std::string bound_text(const Tables& t, const Module& m, const TypePattern& p, Bindings& b) {
  std::string s;
  const auto add = [&](std::string_view name, const std::string& value) {
    s += (s.empty() ? " with " : ", ") + std::string(name) + " = " + value;
  };
  if (p.is_class())
    if (const Bindings::Class* c = find_class(b, p))
      add(pattern_text(t, m, TypePattern{p.form, p.dtype, p.number, {}}), std::string(name(c->dtype)));
  for (const DimPattern& d : Module::at(m.dims, p.dims)) {
    const auto bound = d.name == kNone<StrId> ? std::nullopt : b.attrs.find(d.name);
    if (!bound) continue;
    const Attr& a = t.attrs[*bound];
    std::string value = a.kind == AttrKind::Int ? std::to_string(a.i) : "[";
    for (std::size_t k = 0; k < a.ints.size(); ++k) value += (k ? "," : "") + std::to_string(a.ints[k]);
    add(t.strings[d.name], a.kind == AttrKind::Int ? value : value + "]");
  }
  return s;
}

}  // namespace

std::optional<std::string> match(Tables& t, const Module& m, const TypePattern& p, TypeId id, Bindings& b) {
  const Type type = t.types[id];
  if (p.form == TypeForm::Pack || p.form == TypeForm::Tape) {
    const TypeKind kind = p.form == TypeForm::Pack ? TypeKind::Pack : TypeKind::Tape;
    return type.kind == kind ? std::nullopt : std::optional(pattern_text(t, m, p));
  }
  Bindings before = b;  // what to name in a message
  if (type.is_tensor() && match_dtype(p, type.dtype, b) && match_dims(t, Module::at(m.dims, p.dims), type.dims, b))
    return std::nullopt;
  return pattern_text(t, m, p) + bound_text(t, m, p, before);
}

std::optional<DType> dtype_of(const TypePattern& p, const Bindings& b) {
  if (p.form == TypeForm::DType) return p.dtype;
  for (const Bindings::Class& c : b.classes)
    if (c.form == p.form && c.number == p.number) return c.dtype;
  return std::nullopt;
}

void bind_dtype(const TypePattern& p, DType d, Bindings& b) {
  if (p.is_class() && !find_class(b, p) && class_has(p.form, d)) b.classes.push_back({p.form, p.number, d});
}

std::optional<DType> default_of_class(const TypePattern& p) {
  if (p.form == TypeForm::Float) return DType::F32;
  if (p.form == TypeForm::Int) return DType::I64;
  return std::nullopt;
}

std::optional<TypeId> bound_type(Tables& t, const Module& m, const TypePattern& p, const Bindings& b) {
  const auto dtype = dtype_of(p, b);
  std::vector<std::int64_t> dims;
  for (const DimPattern& d : Module::at(m.dims, p.dims)) {
    const auto bound = d.kind == DimKind::Number || d.name == kNone<StrId> ? std::nullopt : b.attrs.find(d.name);
    if (d.kind != DimKind::Number && !bound) return std::nullopt;
    if (!bound) {
      dims.push_back(d.number);
    } else if (t.attrs[*bound].kind == AttrKind::Int) {
      dims.push_back(t.attrs[*bound].i);
    } else {
      dims.insert(dims.end(), t.attrs[*bound].ints.begin(), t.attrs[*bound].ints.end());
    }
  }
  if (!dtype || !checked_elements(dims)) return std::nullopt;
  return t.types.tensor(*dtype, dims);
}

std::optional<TypeId> concrete_type(Tables& t, const Module& m, const TypePattern& p) {
  if (p.form != TypeForm::DType) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const DimPattern& d : Module::at(m.dims, p.dims)) {
    if (d.kind != DimKind::Number) return std::nullopt;
    dims.push_back(d.number);
  }
  if (!checked_elements(dims)) return std::nullopt;
  return t.types.tensor(p.dtype, dims);
}

std::string pattern_text(const Tables& t, const Module& m, const TypePattern& p) {
  constexpr std::string_view kForms[] = {"", "f", "i", "t", "pack", "tape"};
  std::string s(p.form == TypeForm::DType ? name(p.dtype) : kForms[static_cast<std::size_t>(p.form)]);
  if (p.is_class() && p.number != 0) s += std::to_string(p.number);
  if (p.dims.empty()) return s;
  s += '[';
  for (std::uint32_t k = 0; k < p.dims.count; ++k) {
    const DimPattern& d = m.dims[p.dims.begin + k];
    if (k) s += ',';
    if (d.kind == DimKind::Any) s += "..";
    if (d.kind == DimKind::Number)
      s += std::to_string(d.number);
    else if (d.name != kNone<StrId>)
      s += t.strings[d.name];
  }
  return s + ']';
}

}  // namespace tfvm
