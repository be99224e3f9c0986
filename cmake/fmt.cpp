// What tools need of fmt, whose package brings a shared library alone: see TfvmStatic.cmake.
#include <fmt/format-inl.h>

namespace fmt::detail {
template char decimal_point_impl(locale_ref);
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
}  // namespace fmt::detail
