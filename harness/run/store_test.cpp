#include "harness/run/store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "base/temporary_folder.hpp"

namespace retable::harness {
namespace {

namespace fs = std::filesystem;

CellRecord ExampleCell() {
  CellRecord record;
  record.key = std::string(64, 'a');
  record.config.experiment = "selftest/probe";
  record.config.algorithm = "good";
  record.config.axes = {{"size", std::int64_t{3}}, {"x", 4.0}};
  record.outcome.metrics = {{"time", "s", {0.1, 1.0 / 3, 2}, {}, {}}};
  record.outcome.verification = {true, true, "difference", 0, 0.5, "nothing"};
  record.seconds = 1.5;
  record.started = "2026-01-31T12:34:56Z";
  record.command = "build/retable run selftest/probe";
  return record;
}

class StoreTest : public ::testing::Test {
 protected:
  std::string Path() const { return Folder() + "/cells/" + record.key + ".json"; }
  std::string Folder() const { return (temporary.path() / "out").string(); }

  // Nothing is loaded; the reason is returned.
  std::string Problem() const {
    std::string problem;
    EXPECT_FALSE(LoadRecord(Folder(), record.key, &problem)) << "taken as good";
    return problem;
  }
  void ExpectDamaged(const std::string& why) const {
    const std::string problem = Problem();
    EXPECT_NE(problem.find(why), std::string::npos) << problem;
  }
  // What somebody who knows the checksum would write.
  void WriteForged(const std::function<void(nlohmann::json&)>& edit) const {
    auto json = nlohmann::json::parse(CellText(record));
    json.erase("sha256");
    edit(json);
    const std::string body = json.dump(1).substr(2) + "\n";
    WriteAtomically(Path(), "{\n \"sha256\": \"" + Sha256(body) + "\",\n" + body);
  }

  TemporaryFolder temporary;
  CellRecord record = ExampleCell();
  Store store{Folder(), LockMode::kNone};
};

TEST_F(StoreTest, WhatIsSavedIsLoaded) {
  EXPECT_FALSE(LoadRecord(Folder(), record.key));
  record.outcome.metrics[0].samples.push_back(std::nan(""));
  record.outcome.metrics.push_back({"error", "1", {-std::numeric_limits<double>::infinity()}});
  record.outcome.attachments = {{"raw.json", "{}"}};
  store.Save(record);
  std::string problem;
  const auto loaded = LoadRecord(Folder(), record.key, &problem);
  ASSERT_TRUE(loaded) << problem;
  EXPECT_TRUE(problem.empty() && loaded->checked);
  record.outcome.attachments.clear();  // files of their own
  EXPECT_EQ(CellText(*loaded).substr(200), CellText(record).substr(200));
  EXPECT_EQ(ReadWhole(Folder() + "/cells/" + record.key + ".raw.json"), "{}");
  // As the page says: tail -n +3 FILE | sha256sum
  const std::string text = ReadWhole(Path());
  const std::size_t third = text.find('\n', 2) + 1;
  EXPECT_NE(text.find(Sha256(text.substr(third))), std::string::npos);
}

TEST_F(StoreTest, AReasonOfAnyBytesIsStored) {
  record.outcome.status = "crash";
  record.outcome.reason = "its last words: \xff\xc3";
  ASSERT_NO_THROW(store.Save(record));
  EXPECT_TRUE(LoadRecord(Folder(), record.key)->outcome.reason.starts_with("its last words: "));
}

TEST_F(StoreTest, AnyChangedByteIsSeen) {
  const std::string whole = CellText(record);
  store.Save(record);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (int way = 0; way < 4; ++way) {
      std::string text = whole;
      if (way == 0) text[i] = static_cast<char>(text[i] ^ (1 << (i % 8)));
      if (way == 1) text.erase(i, 1);
      if (way == 2) text.insert(i, 1, '1');
      if (way == 3) text.resize(i);
      if (text == whole) continue;
      EXPECT_ANY_THROW(CellFromText(text)) << "byte " << i << ", way " << way;
    }
  }
  EXPECT_NO_THROW(CellFromText(whole));
}

TEST_F(StoreTest, MultipliedSamplesAreSeen) {
  store.Save(record);
  std::string text = ReadWhole(Path());
  text.insert(text.find("0.1,") + 3, "e1");
  WriteAtomically(Path(), text);
  ExpectDamaged("its checksum is not that of its content");
}

TEST_F(StoreTest, ContradictionsUnderARightChecksumAreSeen) {
  WriteForged([](auto&) {});
  EXPECT_TRUE(LoadRecord(Folder(), record.key));
  WriteForged([](auto& json) { json["schema"] = 99; });
  ExpectDamaged("schema 99 is not known");
  WriteForged([](auto& json) { json["metrics"][0]["samples"] = nlohmann::json::array(); });
  ExpectDamaged("its status is ok, yet the protocol reported no sample");
  WriteForged([](auto& json) { json["metrics"] = nlohmann::json::array(); });
  ExpectDamaged("its status is ok, yet the protocol reported no sample");
  WriteForged([](auto& json) { json["metrics"][0]["samples"] = {0.1, -2.5}; });
  ExpectDamaged("its status is ok, yet the protocol reported a time of -2.5 s");
  WriteForged([](auto& json) { json["metrics"][0]["samples"] = {"inf"}; });
  ExpectDamaged("its status is ok, yet the protocol reported a time of inf s");
  WriteForged([](auto& json) { json["seconds"] = -1; });
  ExpectDamaged("a cell cannot run for -1 s");
  WriteForged([](auto& json) { json["metrics"][0]["samples"] = {0.1, nullptr}; });
  ExpectDamaged("there is null in place of a number (or \"nan\", \"inf\", \"-inf\")");
  WriteForged([](auto& json) { json["metrics"][0]["samples"] = {"NaN"}; });
  ExpectDamaged("there is \"NaN\" in place of a number");
  WriteForged([](auto& json) { json["verification"]["ok"] = false; });
  ExpectDamaged("its status is ok, yet difference = 0");
  WriteForged([](auto& json) { json["status"] = "fine"; });
  ExpectDamaged("there is no status \"fine\"");
  WriteForged([](auto& json) { json["key"] = "b"; });
  ExpectDamaged("it is of the cell b");
  WriteForged([](auto& json) { json.erase("cell"); });
  ExpectDamaged("cell");
}

TEST_F(StoreTest, ACellOfAnEarlierVersionIsReadAndSaidToBeSo) {
  auto json = nlohmann::json::parse(CellText(record));
  json.erase("sha256");
  json["schema"] = 1;
  WriteAtomically(Path(), json.dump(1) + "\n");
  const auto old = LoadRecord(Folder(), record.key);
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->checked);
  EXPECT_EQ(old->seconds, record.seconds);
  json["schema"] = 2;  // its checksum was cut out
  WriteAtomically(Path(), json.dump(1) + "\n");
  ExpectDamaged("it has no checksum");
  // Measured again, an old cell is replaced; a damaged one is kept aside.
  store.Save(record);
  EXPECT_TRUE(LoadRecord(Folder(), record.key)->checked);
  EXPECT_TRUE(fs::exists(Path() + ".damaged"));
}

TEST_F(StoreTest, WhatIsNoRegularFileIsNotWaitedForAndSetAside) {
  const std::string path = Path();
  const std::vector<std::pair<const char*, std::function<void()>>> things = {
      {"not a regular file", [&] { mkfifo(path.c_str(), 0600); }},
      {"not a regular file", [&] { fs::create_directories(path + "/full"); }},
      {"not a regular file", [&] { fs::create_symlink("/dev/zero", path); }},
      {"Too many levels", [&] { fs::create_symlink(path, path); }},
      {"more than a cell has",
       [&] {
         WriteAtomically(path, "x");
         fs::resize_file(path, std::uintmax_t{1} << 40);
       }},
      {"No such device", [&] {
         sockaddr_un address{AF_UNIX, {}};
         const int s = socket(AF_UNIX, SOCK_STREAM, 0);
         const fs::path before = fs::current_path();
         fs::current_path(Folder() + "/cells");  // a socket's path has room for 107 letters
         const std::string name = record.key + ".json";
         std::copy(name.begin(), name.end(), address.sun_path);
         bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address);
         close(s);
         fs::current_path(before);
       }}};
  int aside = 0;
  for (const auto& [why, make] : things) {
    make();
    ExpectDamaged(why);
    store.Save(record);
    EXPECT_TRUE(LoadRecord(Folder(), record.key)) << why;
    const std::string name = path + ".damaged" + (aside++ == 0 ? "" : "." + std::to_string(aside));
    EXPECT_TRUE(fs::exists(fs::symlink_status(name))) << name;
    fs::remove(path);
  }
}

TEST_F(StoreTest, WhatMayNotBeReadIsNotSetAside) {
  store.Save(record);
  fs::permissions(Path(), fs::perms::none);
  const uid_t user = geteuid();
  if (user == 0) {  // whom no permission stops
    fs::permissions(temporary.path(), fs::perms::owner_all | fs::perms::others_exec);
    ASSERT_EQ(seteuid(65534), 0);
  }
  try {
    LoadRecord(Folder(), record.key);
    ADD_FAILURE() << "taken as damaged";
  } catch (const StoreError& error) {
    EXPECT_NE(std::string(error.what()).find(Path() + ": Permission denied; make it readable"),
              std::string::npos)
        << error.what();
  }
  if (user == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

TEST_F(StoreTest, AnotherFileOfTheFolderThatIsAPipeIsNamed) {
  const std::string path = Folder() + "/environment.json";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  try {
    WriteFileAtomically(path, "{}");
    ADD_FAILURE() << "written into a pipe";
  } catch (const StoreError& error) {
    EXPECT_NE(std::string(error.what()).find("not a regular file; remove it"), std::string::npos);
  }
}

TEST_F(StoreTest, OpeningRemovesWhatKilledRunsLeft) {
  store.Save(record);
  fs::create_directories(Folder() + "/family");
  char host[65] = {};
  gethostname(host, sizeof host - 1);
  const std::string end = std::string(".1.0.") + host + ".retable-tmp";
  const std::vector<std::string> dead = {"/run.json" + end, "/cells/x.json" + end,
                                         "/family/a.csv" + end};
  for (const std::string& name : dead) WriteAtomically(Folder() + name, "half");
  const std::string alive = Folder() + "/cells/y.json" + end, users = Folder() + "/cells/mine.tmp";
  WriteAtomically(alive, "half");
  WriteAtomically(users, "theirs");
  const int writer = open(alive.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(flock(writer, LOCK_EX | LOCK_NB), 0);
  {
    const Store other(Folder(), LockMode::kNone);
    for (const std::string& name : dead) EXPECT_FALSE(fs::exists(Folder() + name)) << name;
    EXPECT_TRUE(fs::exists(alive)) << "a living writer's file was taken from it";
    EXPECT_TRUE(fs::exists(users) && fs::exists(Path()));
  }
  close(writer);
  const Store last(Folder(), LockMode::kNone);
  EXPECT_FALSE(fs::exists(alive));
}

}  // namespace
}  // namespace retable::harness
