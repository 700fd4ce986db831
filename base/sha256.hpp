#pragma once
//! @file
//! MD5 (what OpenML publishes) and SHA-256 (what we pin), as lower-case hexadecimal text.

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace retable {

//! A running hash. After Hex() it is spent.
class Digest {
 public:
  enum class Kind { kMd5, kSha256 };
  explicit Digest(Kind kind);
  void Update(std::string_view bytes);
  std::string Hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string Sha256(std::string_view bytes);
std::string Md5(std::string_view bytes);

}  // namespace retable
