#include "base/files/table_format.hpp"

#include <filesystem>
#include <map>
#include <stdexcept>

#include "base/files/output_paths.hpp"

namespace retable {
namespace {

std::string EndingOf(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending;
}

}  // namespace

TableFormat FormatOf(const std::string& path) {
  static const std::map<std::string, TableFormat> formats = {
      {".csv", TableFormat::kCsv}, {".arff", TableFormat::kArff}, {".npy", TableFormat::kNpy}};
  const auto found = formats.find(EndingOf(path));
  return found == formats.end() ? TableFormat::kOther : found->second;
}

bool IsArrayOutput(const std::string& path) {
  const TableFormat format = FormatOf(path);
  if (format == TableFormat::kNpy || format == TableFormat::kCsv || EndingOf(path).empty()) {
    return format == TableFormat::kNpy;
  }
  throw OutputRefused(path + " is neither .csv nor .npy, as results are written");
}

void RefuseFormat(const std::string& path) {
  static const std::map<std::string, std::string> readers = {{".parquet", "read_parquet"},
                                                             {".feather", "read_feather"},
                                                             {".arrow", "read_feather"},
                                                             {".orc", "read_orc"}};
  const std::string ending = EndingOf(path);
  const auto reader = readers.find(ending);
  std::string remedy;
  if (reader != readers.end()) {
    remedy = "; convert it: python3 -c \"import pandas; pandas." + reader->second + "('" + path +
             "').to_csv('" + std::filesystem::path(path).replace_extension(".csv").string() +
             "', index=False)\"";
  } else if (ending == ".npz") {
    remedy = "; it holds several arrays: numpy.save one of numpy.load('" + path + "') as .npy";
  }
  throw std::invalid_argument(path + " is neither .csv, .arff nor .npy" + remedy);
}

}  // namespace retable
