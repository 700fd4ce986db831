#pragma once
//! @file
//! Rows of a CSV, ARFF or .npy file, a chunk at a time, as a model's rows: so that a file larger
//! than memory can be explained.
//!
//! Columns go by name where the model knows its features' names (others in the file are left out),
//! else by position, as those of an array, which are called 0, 1, ... do. Values become what the
//! model's trainer would have made of them: categories by the model's own list, numbers as doubles
//! until the model's encoding makes floats of them (model/feature_encoding.hpp). Only one chunk is
//! in memory. One thread reads records; all threads parse them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "base/csv/reader.hpp"
#include "base/files/table_format.hpp"
#include "base/npy/reader.hpp"

namespace retable::experiments::treeshap {

class RowStream {
 public:
  //! Opens a .csv (with a header line), .arff or .npy file.
  //! @param model must outlive the stream
  //! @param ignore columns of the file to leave out, as the target
  //! @param threads that parse; 0: all
  //! @throws std::invalid_argument or CsvError naming the file and what is missing or too many
  RowStream(const std::string& path, const retable::treeshap::TreeEnsemble& model,
            const std::vector<std::string>& ignore, int threads = 0);

  //! The features' names: the model's, or the file's.
  const std::vector<std::string>& names() const { return names_; }
  //! Appends up to `count` rows to `values`, row-major. @return rows read; 0 at the end
  //! @throws std::runtime_error or std::invalid_argument naming file and line
  std::size_t Read(std::size_t count, std::vector<float>& values);
  //! Passes over the rows that Read would have given, without looking at their values.
  //! @return how many
  std::size_t Skip(std::size_t count);
  //! Fraction of the file read so far, in [0, 1].
  double done() const;
  //! What the user should know of the values read so far, a sentence each.
  std::vector<std::string> notes() const;

 private:
  // Values of a column that are no categories of the model, and the first of them.
  struct Strange {
    std::size_t count = 0;
    std::string text;
    std::int64_t line = 0;
  };
  // The rows of some records.
  struct Rows {
    std::vector<float> values;
    std::size_t count = 0;
    std::map<std::size_t, Strange> strange;  // by feature
  };
  using Records = std::span<const CsvRecord>;
  using Places = std::map<std::string, std::vector<std::size_t>>;

  using Parse = std::function<void(std::size_t first, std::size_t last, Rows& rows)>;

  void OpenCsv(const std::vector<std::string>& ignore);
  void OpenArff(const std::vector<std::string>& ignore);
  void OpenArray(const std::vector<std::string>& ignore);
  void Match(const std::vector<std::string>& columns, const std::vector<std::string>& ignore);
  // A name as the trainer writes it.
  std::string TrainersName(std::string name) const;
  // The column of a feature; `places` holds where columns stand, by their trainer's names.
  std::size_t Column(const std::vector<std::string>& columns, const Places& places,
                     const std::string& feature, const std::vector<std::string>& ignore) const;
  std::vector<std::string> MadeUpNames(const Places& places) const;
  // Parses parts of [0, count) on all threads and appends their rows. Returns how many they are.
  std::size_t Append(std::size_t count, std::vector<float>& values, const Parse& parse);
  std::size_t ReadArray(std::size_t count, std::vector<float>& values);
  // Parse records and append their rows.
  void ParseCsv(Records records, Rows& rows) const;
  void ParseArff(Records records, Rows& rows) const;
  // A value of feature f as the model's; `line` for messages.
  float Number(double value, std::size_t f, std::int64_t line, Rows& rows) const;
  float Category(std::string_view text, std::size_t f, std::int64_t line, Rows& rows) const;
  float Level(const std::string& text, std::size_t f, std::int64_t line, Rows& rows) const;
  bool HasCategories(std::size_t f) const {
    return encodings_[f] != nullptr && !encodings_[f]->categories.empty();
  }

  std::string path_;
  int threads_;
  const retable::treeshap::TreeEnsemble& model_;
  TableFormat format_;
  std::unique_ptr<CsvRecords> records_;
  std::unique_ptr<NpyMatrix> array_;  // of an .npy file, which has no records
  std::size_t array_row_ = 0;         // the next
  CsvHeader header_;                  // of a CSV file
  std::string arff_header_;           // through @data
  std::int64_t header_lines_ = 0;
  std::vector<std::string> names_, unused_;
  std::vector<std::string> positions_;  // nominal columns whose levels are numbers
  std::vector<std::size_t> order_;      // the file's column of each feature
  std::vector<const retable::treeshap::FeatureEncoding*> encodings_;  // null: by rounding
  std::map<std::size_t, Strange> strange_;
};

}  // namespace retable::experiments::treeshap
