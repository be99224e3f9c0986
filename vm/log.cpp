#include "vm/log.h"

#include <cstdio>
#include <cstdlib>

namespace tfvm {

namespace {

bool names(std::string_view list, std::string_view category) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view item = list.substr(begin, end - begin);
    if (item == category || item == "all") return true;
    begin = end + 1;
  }
  return false;
}

void print(std::string_view category, const std::string& message) {
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(category.size()), category.data(), message.c_str());
}

}  // namespace

LogFn log_of_environment() {
  const char* list = std::getenv("TFVM_LOG");
  if (!list || !*list) return {};
  return [chosen = std::string(list)](std::string_view category, const std::string& message) {
    if (category == kNotice || names(chosen, category)) print(category, message);
  };
}

void give_notice(const LogFn& log, const std::string& message) {
  if (log)
    log(kNotice, message);
  else
    print(kNotice, message);
}

}  // namespace tfvm
