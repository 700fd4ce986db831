#pragma once
//! @file
//! SHA-256 (FIPS 180-4) of bytes and of files, as 64 lower-case hexadecimal digits. OpenSSL does
//! the work; nothing of it shows here. Cells' keys, data and result files are named by it.

#include <string>
#include <string_view>

namespace retable::harness {

//! @throws std::runtime_error when OpenSSL refuses (out of memory)
std::string Sha256Hex(std::string_view bytes);

//! Of a file's content, read in pieces. @throws std::runtime_error naming the file when unreadable
std::string Sha256HexOfFile(const std::string& path);

}  // namespace retable::harness
