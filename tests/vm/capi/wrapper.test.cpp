#include <string>

#include <gtest/gtest.h>
#include <tfvm.h>

namespace host {
double built_gradient();
tfvm_error first_error();
}  // namespace host

namespace {

TEST(CApiWrapper, BuildsDifferentiatesAndCalls) { EXPECT_EQ(host::built_gradient(), 4); }

TEST(CApiWrapper, ErrorsHaveAPlace) {
  const tfvm_error e = host::first_error();
  EXPECT_EQ(e.code, TFVM_NAME);
  EXPECT_EQ(e.line, 2);
  EXPECT_EQ(std::string(e.file), "b.tfa");
}

}  // namespace
