#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace retable {
namespace {

// Known answers of FIPS 180-4's example computations and of RFC 1321.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Md5(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
}

TEST(Sha256, PiecesGiveTheHashOfTheWhole) {
  const std::string bytes(200, '\7');
  for (const std::size_t first : {0, 1, 63, 64, 65, 200}) {
    Digest digest(Digest::Kind::kSha256);
    digest.Update(std::string_view(bytes).substr(0, first));
    digest.Update(std::string_view(bytes).substr(first));
    EXPECT_EQ(digest.Hex(), Sha256(bytes)) << first;
  }
}

}  // namespace
}  // namespace retable
