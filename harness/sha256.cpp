#include "harness/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace retable::harness {
namespace {

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    Check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void Update(const char* bytes, std::size_t count) {
    Check(EVP_DigestUpdate(context_.get(), bytes, count) == 1);
  }

  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned length = 0;
    Check(EVP_DigestFinal_ex(context_.get(), bytes.data(), &length) == 1);
    std::string hex;
    for (unsigned i = 0; i < length; ++i) {
      hex += "0123456789abcdef"[bytes[i] >> 4];
      hex += "0123456789abcdef"[bytes[i] & 15];
    }
    return hex;
  }

 private:
  static void Check(bool ok) {
    if (!ok) throw std::runtime_error("SHA-256 failed inside OpenSSL");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  Digest digest;
  digest.Update(bytes.data(), bytes.size());
  return digest.Hex();
}

std::string Sha256HexOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  Digest digest;
  std::array<char, 65536> buffer{};
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    digest.Update(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  // A folder opens without complaint and fails on the first read.
  if (file.bad()) throw std::runtime_error("cannot read " + path);
  return digest.Hex();
}

}  // namespace retable::harness
