#include "stdlib/embedded.h"

#include <gtest/gtest.h>

TEST(Embedded, FilesAreThereAndAreText) {
  ASSERT_FALSE(tfvm::stdlib::files().empty());
  for (const tfvm::EmbeddedFile& file : tfvm::stdlib::files()) {
    EXPECT_TRUE(file.name.ends_with(".tfa")) << file.name;
    EXPECT_FALSE(file.bytes.empty()) << file.name;
    EXPECT_EQ(file.bytes.find('\0'), std::string_view::npos) << file.name;
  }
}
