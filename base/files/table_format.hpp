#pragma once
//! @file
//! Which form a table has, by the ending of its file's name in any case of letters.

#include <string>

namespace retable {

enum class TableFormat { kCsv, kArff, kNpy, kOther };

TableFormat FormatOf(const std::string& path);

//! Whether results go to this file as an array (.npy), else as CSV: .csv, or a name without ending.
//! @throws OutputRefused for any other ending, under which other programs expect another form
bool IsArrayOutput(const std::string& path);

//! @throws std::invalid_argument saying that the file is none of the three and, of a format that
//! Python's libraries know (Parquet, Feather, Arrow, .npz), the line that converts it
[[noreturn]] void RefuseFormat(const std::string& path);

}  // namespace retable
