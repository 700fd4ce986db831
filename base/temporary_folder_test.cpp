#include "base/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace retable {
namespace {

TEST(TemporaryFolder, GoesWithAllInIt) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder, other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    std::filesystem::create_directory(path / "inner");
    std::ofstream(path / "inner/file") << "x";
    EXPECT_TRUE(std::filesystem::exists(path / "inner/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace retable
