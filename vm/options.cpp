#include "vm/options.h"

#include <cstdlib>

namespace tfvm {

NanTrap nan_trap_of_environment() {
  const char* text = std::getenv("TFVM_NAN_TRAP");
  if (!text) return NanTrap::Off;
  if (std::string_view(text) == "live") return NanTrap::Live;
  return *text == '1' ? NanTrap::All : NanTrap::Off;
}

std::string debug_dir_of_environment() {
  const char* dir = std::getenv("TFVM_DEBUG_DIR");
  return dir ? dir : "";
}

}  // namespace tfvm
