#pragma once
//! @file
//! MD5 (what OpenML publishes) and SHA-256 (what we pin), as lower-case hexadecimal text.

#include <memory>
#include <string>
#include <string_view>

namespace retable {

//! A running hash. After Hex() it is spent.
class Digest {
 public:
  enum class Kind { kMd5, kSha256 };
  explicit Digest(Kind kind);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  void Update(std::string_view bytes);
  std::string Hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string Sha256(std::string_view bytes);
std::string Md5(std::string_view bytes);

}  // namespace retable
