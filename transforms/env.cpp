#include "transforms/env.h"

namespace tfvm {

const PassResult* PassMemo::find(std::string_view pass, FunctionId f, std::span<const std::int64_t> params) const {
  const auto it = results_.find({std::string(pass), index(f.body), index(f.debug), {params.begin(), params.end()}});
  return it == results_.end() ? nullptr : &it->second;
}

const PassResult& PassMemo::add(std::string_view pass, FunctionId f, std::span<const std::int64_t> params,
                                PassResult r) {
  Key key{std::string(pass), index(f.body), index(f.debug), {params.begin(), params.end()}};
  const PassResult& added = results_.insert_or_assign(std::move(key), std::move(r)).first->second;
  if (trace) trace(pass, added);
  return added;
}

}  // namespace tfvm
