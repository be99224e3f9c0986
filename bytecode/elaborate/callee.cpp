#include "bytecode/elaborate/callee.h"

#include <algorithm>

#include "bytecode/elaborate/program.h"
#include "bytecode/elaborate/visit.h"
#include "bytecode/hash.h"

namespace tfvm {

std::size_t InstanceHash::operator()(const InstanceKey& k) const {
  std::uint64_t h = hash_span(std::span<const TypeId>(k.args));
  for (const NamedAxis& a : k.axes) h = hash_mix(hash_mix(h, index(a.name)), static_cast<std::uint64_t>(a.size));
  return static_cast<std::size_t>(h);
}

std::vector<NamedAxis>& Callee::axes() { return p_.axes(); }

InstanceKey Callee::key(std::span<const TypeId> args) { return {{args.begin(), args.end()}, p_.axes()}; }

std::vector<FunctionId> Callee::instances() const {
  std::vector<FunctionId> all;
  for (const auto& [args, f] : made_) all.push_back(f);
  std::ranges::sort(all, {}, [](FunctionId f) { return index(f.body); });
  return all;
}

bool Callee::has_made(FunctionId f) const {
  return std::ranges::any_of(made_, [&](const auto& entry) { return entry.second == f; });
}

Result<FunctionId> Callee::instantiate(std::span<const TypeId> args) {
  InstanceKey key = this->key(args);
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  if (const auto it = failed_.find(key); it != failed_.end()) return it->second;
  Program::Visit visit(p_, nullptr, {});
  if (!visit.status()) return visit.status().error();
  Result<std::size_t> n = arity(args);
  if (!n) return n.error();
  if (*n != args.size())
    return Error{Code::Type, text() + " takes " + std::to_string(*n) + (*n == 1 ? " argument" : " arguments") +
                                 ", got " + std::to_string(args.size())};
  Result<FunctionId> f = make(args);
  if (!f) {
    const bool of_the_caller = f.error().code == Code::Limit || f.error().message.starts_with("cycle of calls");
    if (!of_the_caller) failed_.emplace(std::move(key), f.error());
    return f;
  }
  // What is made bottom up must not nest deeper either: passes walk down the calls.
  if (Status s = p_.check_depth(*f); !s) return s.error();
  made_.emplace(std::move(key), *f);
  return f;
}

Result<AttrId> Callee::call_attrs(std::span<const TypeId> args) {
  Result<FunctionId> f = instantiate(args);
  if (!f) return f.error();
  return p_.tables().attrs.dict({{Key::callee, *f}});
}

}  // namespace tfvm
