#include "base/sha256.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace retable {

struct Digest::Context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(handle); }
};

Digest::Digest(Kind kind) : context_(std::make_unique<Context>()) {
  const EVP_MD* method = kind == Kind::kMd5 ? EVP_md5() : EVP_sha256();
  if (context_->handle == nullptr || EVP_DigestInit_ex(context_->handle, method, nullptr) != 1) {
    throw std::runtime_error("the cryptographic library refuses MD5 or SHA-256");
  }
}

Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::Update(std::string_view bytes) {
  EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size());
}

std::string Digest::Hex() {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(context_->handle, raw, &length);
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    hex += "0123456789abcdef"[raw[i] >> 4];
    hex += "0123456789abcdef"[raw[i] & 15];
  }
  return hex;
}

std::string Sha256(std::string_view bytes) {
  Digest digest(Digest::Kind::kSha256);
  digest.Update(bytes);
  return digest.Hex();
}

std::string Md5(std::string_view bytes) {
  Digest digest(Digest::Kind::kMd5);
  digest.Update(bytes);
  return digest.Hex();
}

}  // namespace retable
