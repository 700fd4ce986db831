#include "harness/sha256.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace retable::harness {
namespace {

// Known answers of FIPS 180-4's example computations.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, FileEqualsItsBytes) {
  const std::string path = testing::TempDir() + "sha256_test.bin";
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 200000}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7);
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(Sha256HexOfFile(path), Sha256Hex(bytes)) << size;
  }
  std::remove(path.c_str());
}

TEST(Sha256, UnreadableFileIsNamed) {
  try {
    Sha256HexOfFile("/nowhere/at/all");
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all"), std::string::npos);
  }
  EXPECT_THROW(Sha256HexOfFile(testing::TempDir()), std::runtime_error);
}

}  // namespace
}  // namespace retable::harness
