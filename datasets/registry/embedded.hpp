#pragma once
//! @file
//! Data compiled into the program: registry.toml and the five small real data sets that
//! scikit-learn ships (embedded/, BSD-3-Clause), 121 columns in all. build.cmake turns the files
//! into arrays.

#include <string>
#include <string_view>
#include <vector>

#include "datasets/frame/frame.hpp"

namespace retable::datasets {

//! The bytes of an embedded file. @throws std::invalid_argument for a name that is not there.
std::string_view EmbeddedFile(const std::string& name);

//! "iris", "breast_cancer", "wine", "digits", "diabetes".
const std::vector<std::string>& EmbeddedNames();

//! SHA-256 of the file's text (decompressed; target file appended where there are two).
std::string EmbeddedSha256(const std::string& name);

//! Parses one of them. @throws std::invalid_argument for an unknown name.
Frame LoadEmbedded(const std::string& name);

}  // namespace retable::datasets
