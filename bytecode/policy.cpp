#include "bytecode/policy.h"

namespace tfvm {

Result<CheckpointPolicy> checkpoint_policy(const Tables& t, AttrId policy) {
  using Kind = CheckpointPolicy::Kind;
  const Attr& a = t.attrs[policy];
  const std::string_view word =
      a.kind == AttrKind::Str || a.kind == AttrKind::Call ? t.strings[a.str] : std::string_view();
  if (a.kind == AttrKind::Str) {
    if (word == "nothing_saveable") return CheckpointPolicy{Kind::Nothing, {}};
    if (word == "everything_saveable") return CheckpointPolicy{Kind::Everything, {}};
    if (word == "dots_saveable") return CheckpointPolicy{Kind::Dots, {}};
    if (word == "save_names") return CheckpointPolicy{Kind::Names, {}};
  }
  CheckpointPolicy p{Kind::Names, {}};
  for (AttrId item : a.items)
    if (t.attrs[item].kind == AttrKind::Str) p.names.push_back(t.attrs[item].str);
  if (a.kind == AttrKind::Call && word == "save_names" && !a.items.empty() && p.names.size() == a.items.size())
    return p;
  return Error{Code::Type,
               "[checkpoint] policy must be \"nothing_saveable\", \"everything_saveable\", \"dots_saveable\", "
               "\"save_names\" or save_names(\"…\", …)"};
}

}  // namespace tfvm
