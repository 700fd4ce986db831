#include "harness/record/archive.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include "harness/record/paths.hpp"

namespace retable::harness {
namespace {

Files Unpacked(const std::string& archive) {
  Files files;
  ReadArchive(archive, [&](const std::string& path, std::string content) {
    EXPECT_TRUE(files.emplace(path, std::move(content)).second) << path;
  });
  return files;
}

Files SomeFiles() {
  Files files{{"empty", ""}, {"family/table.csv", "a,b\n"}, {"run.json", std::string(512, 'x')}};
  std::string noise;
  for (std::uint32_t i = 1; noise.size() < 3000000; i = i * 1664525 + 1013904223) {
    noise += static_cast<char>(i >> 24);
  }
  files["cells/" + std::string(64, 'a') + ".json"] = noise;
  return files;
}

TEST(Archive, GivesBackWhatItWasGivenAndEqualBytes) {
  const std::string archive = PackArchive(SomeFiles());
  EXPECT_EQ(Unpacked(archive), SomeFiles());
  EXPECT_EQ(PackArchive(SomeFiles()), archive);
  EXPECT_TRUE(Unpacked(PackArchive({})).empty());
}

// A few bits of zstd's headers say nothing (how large a window may be): the files are what they
// were.
TEST(Archive, AnyChangedOrMissingByteIsFound) {
  const Files files = {{"a", "one\n"}, {"b/c", std::string(2000, 'y')}};
  const std::string archive = PackArchive(files);
  int harmless = 0;
  for (std::size_t i = 0; i < 8 * archive.size(); ++i) {
    std::string changed = archive;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << i % 8));
    try {
      EXPECT_EQ(Unpacked(changed), files) << i;
      ++harmless;
    } catch (const ArchiveError&) {
    }
    EXPECT_THROW(Unpacked(archive.substr(0, i / 8)), ArchiveError) << i;
  }
  EXPECT_LT(harmless, static_cast<int>(archive.size()));  // of eight times as many
  EXPECT_THROW(Unpacked(archive + "x"), ArchiveError);
  EXPECT_THROW(Unpacked(archive + archive), ArchiveError);
}

TEST(Archive, NamesThatLeadOutAreNeitherWrittenNorRead) {
  for (const std::string& name :
       {std::string(), std::string("/etc/x"), std::string("../x"), std::string("a/../../x"),
        std::string("a/.."), std::string("a/"), std::string(101, 'x'), std::string("a\nb")}) {
    EXPECT_THROW(PackArchive({{name, "x"}}), ArchiveError) << name;
  }
}

// 4 KB may hold gigabytes of zeros.
TEST(Archive, WhatUnpacksToMoreThanAnyRecordingIsRefused) {
  const std::string zeros(std::size_t{100} << 20, '\0');
  std::string bomb(ZSTD_compressBound(zeros.size()), '\0');
  bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 3));
  ASSERT_LT(bomb.size(), 64u << 10);
  EXPECT_THROW(Unpacked(bomb), ArchiveError);
  EXPECT_EQ(Unpacked(PackArchive({{"zeros", std::string(std::size_t{20} << 20, '\0')}}))
                .at("zeros")
                .size(),
            std::size_t{20} << 20);
}

TEST(Paths, OfAMachineAreTakenOut) {
  const std::pair<const char*, const char*> cases[] = {
      {"\"/home/me/x/build/retable run shuffle/table1 --profile quick --out /tmp/o --force\"",
       "\"build/retable run shuffle/table1 --profile quick --force\""},
      {"build/retable run a --out results/latest --force", "build/retable run a --force"},
      {"`build/retable datasets fetch cc18` or `../b/retable list`",
       "`build/retable datasets fetch cc18` or `build/retable list`"},
      {"from file:///data/openml; none", "from the mirror; none"},
      {"cannot open /data/models/a.json: no", "cannot open a.json: no"},
      {"x=/scratch/me/f", "x=f"},
      {"{\"a\": \"/srv/z/\"}", "{\"a\": \"z/\"}"},
      // What is no path of a machine.
      {"12 GB/s, 1/2, a/b/c, https://openml.org/d/31",
       "12 GB/s, 1/2, a/b/c, https://openml.org/d/31"},
      {"/proc/stat and /usr/lib/libcuda.so", "/proc/stat and /usr/lib/libcuda.so"},
      {"\"unit\": \"1/s\", / //x /y", "\"unit\": \"1/s\", / //x /y"},
      {"", ""}};
  for (const auto& [text, wanted] : cases) {
    EXPECT_EQ(WithoutPaths(text), wanted);
    EXPECT_EQ(WithoutPaths(wanted), wanted);
  }
}

}  // namespace
}  // namespace retable::harness
