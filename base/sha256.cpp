#include "base/sha256.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace retable {

void Digest::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Digest::Digest(Kind kind) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* method = kind == Kind::kMd5 ? EVP_md5() : EVP_sha256();
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), method, nullptr) != 1) {
    throw std::runtime_error("the cryptographic library refuses MD5 or SHA-256");
  }
}

void Digest::Update(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Digest::Hex() {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(context_.get(), raw, &length);
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
