#include "base/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "base/temporary_folder.hpp"

namespace retable {
namespace {

namespace fs = std::filesystem;

// What is thrown is said of the path, with a reason.
template <class Work>
void Fails(const Work& work, const std::string& why) {
  try {
    work();
    ADD_FAILURE() << "nothing was thrown; expected: " << why;
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

std::ptrdiff_t Files(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(AtomicFile, IsThereWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "new/file";
  WriteAtomically(path, "first");
  {
    AtomicFile torn(path);
    torn.Write("half");
    OutputFile also(path);
    also << "half" << 2 << std::endl;
  }
  EXPECT_EQ(ReadWhole(path), "first");
  EXPECT_EQ(Files(path.parent_path()), 1) << "something was left behind";
  OutputFile second(path);
  second << "second " << 2.5 << '\n';
  EXPECT_EQ(ReadWhole(path), "first");
  second.Commit();
  EXPECT_EQ(ReadWhole(path), "second 2.5\n");
  EXPECT_EQ(Files(path.parent_path()), 1);
}

TEST(AtomicFile, FollowsALinkAndWritesADeviceDirectly) {
  const TemporaryFolder folder;
  WriteAtomically(folder.path() / "file", "old");
  fs::create_symlink("file", folder.path() / "link");
  WriteAtomically(folder.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_EQ(ReadWhole(folder.path() / "file"), "new");

  const fs::path full = folder.path() / "full";  // if it fails, the link is lost and not the device
  fs::create_symlink("/dev/full", full);
  Fails([&] { WriteAtomically(full, "x"); }, "No space left on device");
  EXPECT_TRUE(fs::is_character_file(full));

  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = ReadWhole(pipe); });
  WriteAtomically(pipe, "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(AtomicFile, SaysWhyNot) {
  const TemporaryFolder folder;
  const std::string here = folder.path().string();
  WriteAtomically(folder.path() / "file", "");
  Fails([&] { WriteAtomically(here, "x"); }, "cannot write " + here + ": Is a directory");
  Fails([&] { OutputFile(folder.path() / "file/x"); }, "file/x: ");
  Fails([&] { ReadWhole(here); }, "cannot read " + here + ": Is a directory");
  Fails([&] { ReadWhole(here + "/none"); }, "none: No such file or directory");
  EXPECT_EQ(ReadWhole(folder.path() / "file"), "");
  try {
    WriteAtomically("/dev/full", "x");
    ADD_FAILURE() << "a full device takes nothing";
  } catch (const FileError& problem) {
    EXPECT_EQ(problem.error, ENOSPC);
  }
}

}  // namespace
}  // namespace retable
