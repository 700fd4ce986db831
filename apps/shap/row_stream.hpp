#pragma once
//! @file
//! Rows of a CSV or ARFF file, a chunk at a time, in the order of a model's features: so that a
//! file larger than memory can be explained.
//!
//! Columns go by name where the model knows its features' names (others in the file are left out),
//! else by position. Empty fields, "?", "NA" and "NaN" are missing. Only one chunk is in memory.
//! Lines are taken one after the other; what they say is read by all threads.

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace retable::experiments::treeshap {

//! What a model wants of a file.
struct WantedColumns {
  std::size_t count = 0;            //!< features
  std::vector<std::string> names;   //!< feature names, or none
  std::vector<std::string> ignore;  //!< columns of the file to leave out, as the target
};

class RowStream {
 public:
  //! Opens a .csv (with a header line) or .arff file.
  //! @param threads that read; 0: all
  //! @throws std::invalid_argument naming the file and what is missing or too many
  RowStream(const std::string& path, WantedColumns wanted, int threads = 0);

  //! The features' names: the model's, or the file's.
  const std::vector<std::string>& names() const { return names_; }
  //! Appends up to `count` rows to `values`, row-major. @return rows read; 0 at the end
  //! @throws std::runtime_error or std::invalid_argument naming file and line
  std::size_t Read(std::size_t count, std::vector<float>& values);
  //! Share of the file read so far, in [0, 1].
  double done() const;

 private:
  void OpenCsv();
  void OpenArff();
  void Match(const std::vector<std::string>& columns);
  bool NextLine(std::string& line);
  // A record as it stands in the file, and the line it begins on.
  struct Record {
    std::string text;
    std::int64_t line = 0;
  };
  using Records = std::span<const Record>;
  std::vector<Record> NextRecords(std::size_t count);
  void FinishQuote(Record& record);
  // Append what the records say; return the rows in them.
  std::size_t ParseCsv(Records records, std::vector<float>& values) const;
  std::size_t ParseArff(Records records, std::vector<float>& values) const;

  std::string path_;
  int threads_;
  WantedColumns wanted_;
  std::ifstream file_;
  std::int64_t bytes_ = 0, read_ = 0;
  std::int64_t line_ = 0;    // lines read
  std::string arff_header_;  // through @data; empty: CSV
  std::int64_t header_lines_ = 0;
  std::size_t file_columns_ = 0;
  std::vector<std::string> names_;
  std::vector<std::size_t> order_;  // the file's column of each feature
};

}  // namespace retable::experiments::treeshap
