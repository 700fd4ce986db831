// The store on every state of a disk that a power cut may leave. The changes that the store makes
// are recorded (base/atomic_file.hpp); what was not synced when the power went may be there or not:
// each name (a link, a renaming, a removal, a new folder) for itself, and a file's bytes whole, cut
// short, as zeros, or not at all. The store is opened on each such state.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"
#include "base/temporary_folder.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace {

namespace fs = std::filesystem;

using Log = std::vector<DiskChange>;

// From a place in the log on, the cell is stored, in this version or a later one.
struct Promise {
  std::size_t from;
  std::string key;
  double version;
};

// What a disk holds, by path below the root: contents; folders end in "/".
using Disk = std::map<std::string, std::string>;

std::string Key(char letter) {
  return std::string(64, letter);
}

CellRecord Cell(char letter, double version) {
  CellRecord record;
  record.key = Key(letter);
  record.seconds = version;
  record.outcome.metrics = {{"time", "s", {version}, {}, {}}};
  return record;
}

std::string Plain(const fs::path& path) {
  std::string text = path.lexically_normal().string();
  if (text.ends_with('/')) text.pop_back();
  return text;
}

// The changes before some moment, and what of them is safe.
class Moment {
 public:
  Moment(const Log& log, std::size_t end, const Disk& before, std::string root)
      : root_(std::move(root)) {
    for (const auto& [path, content] : before) {
      names_[path] = path;
      content_[path] = content;
      synced_.insert(path);
    }
    std::map<std::string, std::string> live = names_;
    for (std::size_t i = 0; i < end; ++i) Apply(log[i], live);
  }

  // Calls `see` with every state that the disk may be in.
  void ForEach(const std::function<void(const Disk&)>& see) const {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (!changes_[i].safe) open.push_back(i);
    }
    if (open.size() > 12) throw std::runtime_error("too many changes are not synced");
    for (std::size_t mask = 0; mask < (std::size_t{1} << open.size()); ++mask) {
      std::map<std::string, std::string> names = names_;
      for (std::size_t i = 0, bit = 0; i < changes_.size(); ++i) {
        const bool there = changes_[i].safe || ((mask >> bit++) & 1) != 0;
        if (!there) continue;
        for (const auto& [name, file] : changes_[i].names) {
          if (file.empty()) names.erase(name);
          if (!file.empty()) names[name] = file;
        }
      }
      for (int bytes = 0; bytes < 4; ++bytes) see(State(names, bytes));
    }
  }

 private:
  struct Change {
    std::string folder;
    std::vector<std::pair<std::string, std::string>> names;  // name -> file, or nothing
    bool safe = false;
  };

  // Paths below the root; folders end in "/".
  std::string Below(const fs::path& path) const { return Plain(path).substr(root_.size() + 1); }

  void Add(std::vector<std::pair<std::string, std::string>> names,
           std::map<std::string, std::string>& live) {
    for (const auto& [name, file] : names) {
      if (file.empty()) live.erase(name);
      if (!file.empty()) live[name] = file;
    }
    const std::string folder = fs::path(Plain(names.back().first)).parent_path().string();
    changes_.push_back({folder, std::move(names), false});
  }

  void Apply(const DiskChange& change, std::map<std::string, std::string>& live) {
    if (change.kind == DiskChange::kFolderSynced) {
      const std::string folder = Plain(change.path);
      if (folder.size() < root_.size()) return;  // above the root all is safe
      const std::string below = folder == root_ ? "" : Below(folder);
      for (Change& other : changes_) other.safe = other.safe || other.folder == below;
      return;
    }
    const std::string path = Below(change.path);
    switch (change.kind) {
      case DiskChange::kFolder:
        return Add({{path + "/", path + "/"}}, live);
      case DiskChange::kBytes:
        content_[path] += change.more;
        synced_.erase(path);
        return;
      case DiskChange::kSynced:
        synced_.insert(path);
        return;
      case DiskChange::kNamed:
        return Add({{path, path}}, live);
      case DiskChange::kRenamed: {
        const std::string file = live.at(path);
        return Add({{path, ""}, {Below(change.more), file}}, live);
      }
      case DiskChange::kRemoved:
        return Add({{path, ""}}, live);
      case DiskChange::kFolderSynced:
        return;
    }
  }

  Disk State(const std::map<std::string, std::string>& names, int bytes) const {
    Disk disk;
    for (const auto& [name, file] : names) {
      bool reachable = true;
      for (auto slash = name.find('/'); slash < name.size() - 1; slash = name.find('/', slash + 1))
        reachable = reachable && names.contains(name.substr(0, slash + 1));
      if (!reachable) continue;
      const auto found = content_.find(file);
      std::string content = found == content_.end() ? "" : found->second;
      if (!synced_.contains(file)) {
        if (bytes == 1) content.resize(content.size() / 2);
        if (bytes == 2) content.assign(content.size(), '\0');
        if (bytes == 3) content.clear();
      }
      disk[name] = content;
    }
    return disk;
  }

  std::string root_;
  std::map<std::string, std::string> names_;    // name -> file, before
  std::map<std::string, std::string> content_;  // by file
  std::set<std::string> synced_;
  std::vector<Change> changes_;
};

void Build(const Disk& disk, const fs::path& root) {
  fs::create_directories(root);
  for (const auto& [name, content] : disk) {
    if (name.ends_with('/')) fs::create_directories(root / name);
  }
  for (const auto& [name, content] : disk) {
    if (!name.ends_with('/')) std::ofstream(root / name, std::ios::binary) << content;
  }
}

class PowerCut : public ::testing::Test {
 protected:
  // Memory, where there is some: a thousand folders are opened, and synced.
  PowerCut() {
    const char* old = std::getenv("TMPDIR");
    const std::string before = old ? old : "";
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
    temporary_ = std::make_unique<TemporaryFolder>();
    if (old) setenv("TMPDIR", before.c_str(), 1);
    if (!old) unsetenv("TMPDIR");
  }
  ~PowerCut() override { DiskObserver() = nullptr; }

  std::string Root() const { return (temporary_->path() / "root").string(); }
  std::string Out(const std::string& root) const { return root + "/a/out"; }

  void Save(char letter, double version, const Store& store, const Log& log,
            std::vector<Promise>& promises) const {
    store.Save(Cell(letter, version));
    promises.push_back({log.size(), Key(letter), version});
  }

  // New cells, one measured again, one in the place of a damaged file.
  void Tell(const Log& log, std::vector<Promise>& promises) const {
    const Store store(Out(Root()), LockMode::kNone);
    Save('a', 1, store, log, promises);
    Save('b', 1, store, log, promises);
    Save('a', 2, store, log, promises);
    Save('d', 1, store, log, promises);
  }

  // A damaged file that was there long before; or nothing at all, not even the folder.
  Disk Before(bool fresh) const {
    if (fresh) return {};
    return {{"a/", ""},
            {"a/out/", ""},
            {"a/out/cells/", ""},
            {"a/out/cells/" + Key('d') + ".json", "damaged"}};
  }

  // Opens the store on a state and holds it against the promises. @return what is broken, or
  // nothing
  std::string Check(const Disk& disk, const std::vector<Promise>& promises, bool fresh) {
    std::string signature;
    for (const auto& [name, content] : disk) signature += name + '\0' + content + '\0';
    for (const Promise& p : promises) signature += p.key + std::to_string(p.version);
    if (!seen_.insert(signature).second) return "";
    const fs::path root = temporary_->path() / "state";
    fs::remove_all(root);
    Build(disk, root);
    const Store store(Out(root), LockMode::kNone);
    for (const char letter : {'a', 'b', 'd'}) {
      std::string problem;
      const auto record = LoadRecord(store.folder(), Key(letter), &problem);
      double promised = 0;
      for (const Promise& p : promises) {
        if (p.key == Key(letter)) promised = std::max(promised, p.version);
      }
      const bool was_damaged = letter == 'd' && !fresh;
      if (promised > 0 && !record) return letter + std::string(" is lost: ") + problem;
      if (promised > 0 && record->seconds < promised) return letter + std::string(" is an old one");
      if (!problem.empty() && !was_damaged) return letter + (": " + problem);
      if (was_damaged && promised > 0 &&
          !fs::exists(store.folder() + "/cells/" + Key('d') + ".json.damaged")) {
        return "what was set aside is lost";
      }
    }
    for (const auto& file : fs::recursive_directory_iterator(root)) {
      if (file.path().extension() == ".retable-tmp") return file.path().string() + " was left";
    }
    store.Save(Cell('a', 9));
    return LoadRecord(store.folder(), Key('a')) ? "" : "nothing can be stored any more";
  }

  // Cuts the power after each change from `begin` on.
  std::string CutEverywhere(const Log& log, std::size_t begin, const std::vector<Promise>& promises,
                            bool fresh) {
    std::string broken;
    for (std::size_t end = begin; end <= log.size() && broken.empty(); ++end) {
      std::vector<Promise> made;
      for (const Promise& p : promises) {
        if (p.from <= end) made.push_back(p);
      }
      Moment(log, end, Before(fresh), Root()).ForEach([&](const Disk& disk) {
        if (!broken.empty()) return;
        broken = Check(disk, made, fresh);
        if (!broken.empty()) broken += "; the power went after change " + std::to_string(end);
      });
    }
    return broken;
  }

  // The changes of one story, which ends well.
  Log Record(bool fresh, std::vector<Promise>& promises, const std::string& letters = "") {
    fs::remove_all(Root());
    Build(Before(fresh), Root());
    Log log;
    DiskObserver() = [&](const DiskChange& change) { log.push_back(change); };
    if (letters.empty()) Tell(log, promises);
    if (!letters.empty()) {
      const Store store(Out(Root()), LockMode::kNone);
      for (const char letter : letters) Save(letter, 1, store, log, promises);
    }
    DiskObserver() = nullptr;
    return log;
  }

  std::size_t states() const { return seen_.size(); }

 private:
  std::unique_ptr<TemporaryFolder> temporary_;
  std::set<std::string> seen_;
};

// Where files without a name cannot be had, they bear their temporary one from the start.
Log NamedFromTheStart(const Log& log) {
  Log named;
  std::set<std::string> done;
  for (const DiskChange& change : log) {
    const std::string path = change.path.string();
    if (change.kind == DiskChange::kBytes && done.insert(path).second) {
      named.push_back({DiskChange::kNamed, change.path, ""});
    }
    if (change.kind != DiskChange::kNamed || !done.contains(path)) named.push_back(change);
  }
  return named;
}

TEST_F(PowerCut, NoStoredCellIsLostWhateverWasNotSynced) {
  for (const bool fresh : {true, false}) {
    std::vector<Promise> promises;
    const Log log = Record(fresh, promises);
    ASSERT_GE(log.size(), 20u);
    EXPECT_EQ(CutEverywhere(log, 0, promises, fresh), "");
    // The names come earlier and nothing else moves.
    const Log named = NamedFromTheStart(log);
    ASSERT_EQ(named.size(), log.size());
    EXPECT_EQ(CutEverywhere(named, 0, promises, fresh), "");
  }
  std::cout << states() << " states of the disk\n";
}

class OraclePowerCut : public PowerCut {};

// Two shards that fill one folder, their changes in any order.
TEST_F(OraclePowerCut, TwoRunsLoseNothingInWhateverOrder) {
  std::mt19937_64 random(FreshSeed());
  OracleClock clock;
  while (clock.more()) {
    std::string letters = "d";
    for (auto more = random() % 3; more > 0; --more) letters += "ab"[random() % 2];
    std::vector<Promise> ours, theirs;
    const Log first = Record(false, ours, "a"), second = Record(false, theirs, letters);
    std::vector<bool> turn(first.size(), false);
    turn.resize(first.size() + second.size(), true);
    for (int order = 0; order < 20; ++order) {
      std::shuffle(turn.begin(), turn.end(), random);
      Log log;
      std::vector<Promise> promises;
      std::size_t at[] = {0, 0};
      for (const bool other : turn) {
        log.push_back(other ? second[at[1]] : first[at[0]]);
        const std::size_t end = ++at[other];
        for (const Promise& p : other ? theirs : ours) {
          if (p.from == end) promises.push_back({log.size(), p.key, p.version});
        }
      }
      ASSERT_EQ(CutEverywhere(log, 0, promises, false), "") << letters;
    }
  }
  std::cout << 20 * clock.cases() << " orders, " << states() << " states of the disk\n";
}

// Every sync is needed: the model sees when one is missing.
TEST_F(PowerCut, AMissingSyncIsSeen) {
  const auto without = [&](bool fresh, auto&& dropped) {
    std::vector<Promise> promises;
    const Log log = Record(fresh, promises);
    Log less;
    std::vector<Promise> moved;
    std::size_t told = 0;
    for (std::size_t i = 0; i < log.size(); ++i) {
      if (!dropped(log[i])) less.push_back(log[i]);
      for (; told < promises.size() && promises[told].from == i + 1; ++told) {
        moved.push_back({less.size(), promises[told].key, promises[told].version});
      }
    }
    EXPECT_LT(less.size(), log.size());
    return CutEverywhere(less, 0, moved, fresh);
  };
  EXPECT_NE(without(false, [](const DiskChange& c) { return c.kind == DiskChange::kSynced; }), "");
  const auto folder_synced = [&](const std::string& below) {
    return [folder = Root() + below](const DiskChange& c) {
      return c.kind == DiskChange::kFolderSynced && Plain(c.path) == folder;
    };
  };
  for (const std::string folder : {"", "/a", "/a/out", "/a/out/cells"}) {
    EXPECT_NE(without(true, folder_synced(folder)), "") << folder;
  }
}

// A log through a file: the child that wrote it is killed.
void Write(const Log& log, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (const DiskChange& change : log) {
    file << change.kind << ' ' << change.path.string().size() << ' ' << change.more.size() << '\n'
         << change.path.string() << change.more;
  }
}

Log ReadLog(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Log log;
  int kind = 0;
  std::size_t name = 0, more = 0;
  while (file >> kind >> name >> more) {
    file.get();
    std::string a(name, ' '), b(more, ' ');
    file.read(a.data(), static_cast<std::streamsize>(name));
    file.read(b.data(), static_cast<std::streamsize>(more));
    log.push_back({static_cast<DiskChange::Kind>(kind), a, b});
  }
  return log;
}

// What the next run takes as stored, a power cut after it must not take away: also where the first
// was killed between a change and its sync.
TEST_F(PowerCut, WhatANewRunFindsStoredAfterAKillIsSafe) {
  const std::string path = fs::path(Root()).parent_path().string() + "/log";
  bool killed = true;
  for (std::size_t kill = 1; killed; ++kill) {
    fs::remove_all(Root());
    fs::create_directories(Root());
    const pid_t child = fork();
    if (child == 0) {
      Log log;
      std::vector<Promise> none;
      DiskObserver() = [&](const DiskChange& change) {
        log.push_back(change);
        Write(log, path);
        if (log.size() == kill) _exit(9);
      };
      Tell(log, none);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    killed = WEXITSTATUS(status) == 9;
    Log log = ReadLog(path);
    const std::size_t begin = log.size();
    std::vector<Promise> promises;
    DiskObserver() = [&](const DiskChange& change) { log.push_back(change); };
    {
      const Store store(Out(Root()), LockMode::kNone);
      for (const char letter : {'a', 'b', 'd'}) {
        const auto found = LoadRecord(store.folder(), Key(letter));
        if (found) promises.push_back({log.size(), Key(letter), found->seconds});
      }
      Save('a', 4, store, log, promises);
    }
    DiskObserver() = nullptr;
    ASSERT_EQ(CutEverywhere(log, begin, promises, true), "") << "killed after change " << kill;
  }
  std::cout << states() << " states of the disk\n";
}

}  // namespace
}  // namespace retable::harness
