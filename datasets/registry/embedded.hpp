#pragma once
//! @file
//! Data compiled into the program: registry.toml, the five small real data sets that scikit-learn
//! ships (embedded/, BSD-3-Clause; 121 columns in all), and two of OpenML's, adult and cal_housing.
//! build.cmake turns the files into arrays.

#include <string>
#include <string_view>
#include <vector>

#include "datasets/frame/frame.hpp"

namespace retable::datasets {

//! The bytes of an embedded file. @throws std::invalid_argument for a name that is not there.
std::string_view EmbeddedFile(const std::string& name);

//! "iris", "breast_cancer", "wine", "digits", "diabetes": the group "embedded".
const std::vector<std::string>& EmbeddedNames();

//! SHA-256 of the file's text (decompressed; target file appended where there are two). Computed
//! once a process.
std::string EmbeddedSha256(const std::string& name);

//! Parses one of the five, or "adult" or "cal_housing".
//! @throws std::invalid_argument for an unknown name.
Frame LoadEmbedded(const std::string& name);

}  // namespace retable::datasets
