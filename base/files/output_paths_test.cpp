#include "base/files/output_paths.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

#include "base/temporary_folder.hpp"

namespace retable {
namespace {

namespace fs = std::filesystem;

fs::path File(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "text";
  return path;
}

bool Overwrites(const fs::path& out, const fs::path& input) {
  try {
    KeepInputs(out, {"/no/such/file", input});
  } catch (const OutputRefused& refused) {
    EXPECT_NE(std::string(refused.what()).find(out.string()), std::string::npos);
    return true;
  }
  return false;
}

bool Refused(const fs::path& folder) {
  try {
    CheckOutputFolder(folder, {"cells"});
  } catch (const OutputRefused&) {
    return true;
  }
  return false;
}

TEST(OutputPaths, AnInputIsKeptByWhateverNameItIsCalled) {
  const TemporaryFolder folder;
  const fs::path input = File(folder.path() / "x.csv"), other = File(folder.path() / "y.csv");
  fs::create_symlink(input, folder.path() / "link");
  fs::create_hard_link(input, folder.path() / "hard");
  fs::create_directory_symlink(folder.path(), folder.path() / "here");
  for (const char* name : {"x.csv", "link", "hard", "here/x.csv", "./x.csv", "here/../x.csv"}) {
    const bool up = std::string(name).find("..") != std::string::npos;
    EXPECT_EQ(Overwrites(folder.path() / name, input), !up) << name;
  }
  const fs::path relative = fs::relative(input, fs::current_path());
  EXPECT_TRUE(Overwrites(relative, input));
  EXPECT_TRUE(Overwrites(input, folder.path() / "link"));
  EXPECT_TRUE(Overwrites(folder.path(), folder.path() / "here"));
  for (const fs::path& harmless : {other, folder.path() / "new.csv", fs::path()}) {
    EXPECT_FALSE(Overwrites(harmless, input)) << harmless;
  }
  EXPECT_FALSE(Overwrites("/dev/null", "/dev/null"));
}

TEST(OutputPaths, FoldersThatAreNotForResultsAreRefused) {
  const TemporaryFolder folder;
  const fs::path home = folder.path() / "home";
  File(home / "letter");
  const char* old = std::getenv("HOME");
  const std::string kept = old != nullptr ? old : "";
  setenv("HOME", home.c_str(), 1);
  for (const fs::path& no : {fs::path(), fs::path("/"), fs::path("/tmp/.."), home, home / "."}) {
    EXPECT_TRUE(Refused(no)) << no;
  }
  fs::create_directory_symlink(home, folder.path() / "link");
  EXPECT_TRUE(Refused(folder.path() / "link"));
  EXPECT_FALSE(Refused(home / "results"));
  old != nullptr ? setenv("HOME", kept.c_str(), 1) : unsetenv("HOME");
  File(folder.path() / "plain/notes");
  EXPECT_FALSE(Refused(folder.path() / "plain"));

  const fs::path source = folder.path() / "source";
  File(source / "CMakeLists.txt");
  File(source / "part/code.cpp");
  File(source / "results/latest/cells/key.json");
  File(source / "results/fresh/.gitignore");
  for (const char* no : {"", "part", "results", "part/../part"}) {
    EXPECT_TRUE(Refused(source / no)) << no;
  }
  for (const char* yes : {"results/latest", "results/new", "results/fresh", "new/new"}) {
    EXPECT_FALSE(Refused(source / yes)) << yes;
  }
}

}  // namespace
}  // namespace retable
