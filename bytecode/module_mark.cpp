#include "bytecode/module_mark.h"

namespace tfvm {

namespace {

template <class List>
void cut(List& list, std::size_t size) {
  while (list.size() > size) list.pop_back();
}

}  // namespace

ModuleMark::ModuleMark(Module& m)
    : m_(m),
      items_(m.items.size()),
      funcs_(m.funcs.size()),
      derived_(m.derived.size()),
      globals_(m.globals.size()),
      externs_(m.externs.size()),
      tests_(m.tests.size()) {}

bool ModuleMark::is_new(const Item& item) const {
  switch (item.kind) {
    case ItemKind::Func:
      return item.at >= funcs_;
    case ItemKind::Derived:
      return item.at >= derived_;
    case ItemKind::Global:
      return item.at >= globals_;
    case ItemKind::Extern:
      return item.at >= externs_;
    default:
      return false;
  }
}

ModuleMark::~ModuleMark() {
  if (kept_) return;
  std::erase_if(m_.names, [&](const auto& entry) { return is_new(entry.second); });
  std::erase_if(m_.op_names, [&](const auto& entry) { return is_new(entry.second); });
  cut(m_.items, items_);
  cut(m_.funcs, funcs_);
  cut(m_.derived, derived_);
  cut(m_.globals, globals_);
  cut(m_.externs, externs_);
  cut(m_.tests, tests_);
}

}  // namespace tfvm
