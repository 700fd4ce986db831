#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>

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
  AtomicFile third(path);
  third.Write("00 rows");
  third.Rewrite("12");
  third.Write(" in all");
  third.Commit();
  EXPECT_EQ(ReadWhole(path), "12 rows in all");
}

TEST(AtomicFile, FollowsALinkAndWritesADeviceDirectly) {
  const TemporaryFolder folder;
  WriteAtomically(folder.path() / "file", "old");
  fs::create_symlink("file", folder.path() / "link");
  WriteAtomically(folder.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_EQ(ReadWhole(folder.path() / "file"), "new");

  fs::create_symlink("later", folder.path() / "early");
  WriteAtomically(folder.path() / "early", "there");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "early"));
  EXPECT_EQ(ReadWhole(folder.path() / "later"), "there");
  fs::create_symlink("ring", folder.path() / "ring");
  Fails([&] { WriteAtomically(folder.path() / "ring", "x"); }, "levels of symbolic links");

  // A file that is open already is written to where it stands.
  const int file = open((folder.path() / "file").c_str(), O_WRONLY | O_APPEND);
  WriteAtomically("/dev/fd/" + std::to_string(file), " line");
  WriteAtomically("/proc/self/fd/" + std::to_string(file), " by line");
  close(file);
  EXPECT_EQ(ReadWhole(folder.path() / "file"), "new line by line");
  Fails([&] { WriteAtomically("/dev/fd/" + std::to_string(file), "x"); }, "Bad file descriptor");

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

TEST(AtomicFile, KeepsTheModeOfWhatItReplaces) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  for (const auto mode : {fs::perms{0600}, fs::perms{0640}, fs::perms{0400}}) {
    WriteAtomically(path, "old");
    fs::permissions(path, mode);
    AtomicFile file(path);
    file.Write("new");
    file.Commit();
    EXPECT_EQ(fs::status(path).permissions(), mode);
    EXPECT_EQ(ReadWhole(path), "new");
  }
}

TEST(AtomicFile, TakesEveryNameThatTheFileSystemTakes) {
  const TemporaryFolder folder;
  const fs::path longest = folder.path() / std::string(255, 'x');
  WriteAtomically(longest, "there");
  EXPECT_EQ(ReadWhole(longest), "there");
  Fails([&] { AtomicFile early(longest.string() + "x"); }, "File name too long");
}

TEST(AtomicFile, APipeInTheWayIsNotWaitedFor) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadOrEmpty(pipe), "");
}

TEST(AtomicFile, WhatKilledWritersLeftGoesAndLivingOnesAreSpared) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  int status = 0;
  // A child that is killed between naming its file and renaming it.
  const pid_t child = fork();
  if (child == 0) {
    DiskObserver() = [](const DiskChange& change) {
      if (change.kind == DiskChange::kNamed) raise(SIGKILL);
    };
    WriteAtomically(path, "half");
    _exit(0);
  }
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(Files(folder.path()), 1) << "nothing was left, so that nothing is tested";
  const fs::path left = fs::directory_iterator(folder.path())->path();
  // Another machine's: its lock may be unknown here.
  const fs::path other = folder.path() / "file.1.0.elsewhere.retable-tmp";
  const fs::path old = folder.path() / "file.2.0.elsewhere.retable-tmp";
  const fs::path foreign = folder.path() / "file.1.0.tmp";
  for (const fs::path& name : {other, old, foreign}) std::ofstream(name) << "x";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));

  const int writer = open(left.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(flock(writer, LOCK_EX | LOCK_NB), 0);
  RemoveStaleTemporaries(folder.path());
  EXPECT_TRUE(fs::exists(left)) << "its writer holds it";
  close(writer);
  RemoveStaleTemporaries(folder.path());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST(AtomicFile, NewFoldersAreSyncedIntoThoseAbove) {
  const TemporaryFolder folder;
  std::vector<std::string> told;
  DiskObserver() = [&](const DiskChange& change) {
    if (change.kind == DiskChange::kFolder) told.push_back("make " + change.path.string());
    if (change.kind == DiskChange::kFolderSynced) {
      told.push_back("sync " + change.path.lexically_normal().string());
    }
  };
  const std::string root = folder.path().string();
  MakeFolder(folder.path() / "a/b");
  DiskObserver() = nullptr;
  const std::vector<std::string> expected = {"make " + root + "/a",
                                             "sync " + root,
                                             "sync " + folder.path().parent_path().string() + "/",
                                             "make " + root + "/a/b",
                                             "sync " + root + "/a",
                                             "sync " + root + "/"};
  EXPECT_EQ(told, expected);
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
