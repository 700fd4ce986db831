#pragma once
//! @file
//! A data set in memory, as every family reads it.
//!
//! Columns lie apart (column-major), because sketches, histograms and trees read one feature at a
//! time. A value is a float32, as in the papers; missing is NaN; a nominal value is its level's
//! position in the file's header. Where all values of a column are whole numbers from 0 to 255 (or
//! 65,535) and none is missing, the same column is also there as codes of one (or two) bytes: four
//! times less to read, nothing lost. Where float32 would change whole numbers or dates
//! (timestamps), `wide` has them in float64. A Frame is cheap to copy: the columns are views into
//! storage which the copies share and nobody changes. It may be a memory-mapped cache file.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retable::datasets {

enum class ColumnKind : std::uint8_t { kNumeric, kNominal, kDate, kString };

//! Rounded to float32; beyond its range infinite.
float ToFloat(double v);

//! "numeric", "nominal", "date" or "string".
const char* KindName(ColumnKind kind);

//! What a column is for. Ignored ones (OpenML's row identifiers and ignored attributes) are
//! dropped.
enum class ColumnRole : std::uint8_t { kFeature, kTarget, kIgnored };

struct ColumnInfo;
//! Features, and the target last.
std::vector<ColumnRole> LastIsTarget(const std::vector<ColumnInfo>& columns);

//! Name and type of a column, before its values are known.
struct ColumnInfo {
  std::string name;
  ColumnKind kind = ColumnKind::kNumeric;
  std::vector<std::string> levels;  //!< nominal: in header order; string: by first appearance
};

//! One column; all spans have Frame::rows elements or none.
struct Column : ColumnInfo {
  std::span<const float> values;         //!< always there; NaN is missing
  std::span<const std::uint8_t> codes8;  //!< equal to values, or empty
  std::span<const std::uint16_t>
      codes16;  //!< equal to values, or empty (also when codes8 is there)
  std::span<const double>
      wide;  //!< empty, or the values that float32 would round (whole numbers, dates)
  std::int64_t missing = 0;

  //! The value in float64. Precondition: row is in range.
  double At(std::size_t row) const {
    return wide.empty() ? static_cast<double>(values[row]) : wide[row];
  }
};

//! A whole data set.
struct Frame {
  std::string name;      //!< resolvable by Catalog: "iris", "openml-61", "synthetic normal(0,1)"
  std::string origin;    //!< "embedded", "openml 61", "generator"
  std::string sha256;    //!< hash of the file's text, or of a generator's definition
  bool complete = true;  //!< false: a subset of the published data
  std::int64_t rows = 0;
  std::vector<Column> columns;   //!< features only, in file order
  std::optional<Column> target;  //!< class codes or regression target
  std::shared_ptr<const void> storage;

  //! The feature by name, or nullptr.
  const Column* Find(const std::string& column) const;
  //! Features as one row-major matrix of rows x columns float32.
  std::vector<float> RowMajor() const;
};

//! Collects rows and lays them out as columns, choosing each column's narrowest lossless form as it
//! goes, so that a column of bytes costs a byte a value until the end. Memory: at most 1.5 times
//! the narrow columns, then the float columns are added one at a time.
class FrameBuilder {
 public:
  //! @param doubles keeps all numbers in float64
  FrameBuilder(std::vector<ColumnInfo> columns, std::vector<ColumnRole> roles,
               bool doubles = false);
  ~FrameBuilder();
  FrameBuilder(FrameBuilder&&) noexcept;
  FrameBuilder& operator=(FrameBuilder&&) noexcept;

  //! Where to write the next row, one double a column, ignored ones included; NaN is missing.
  double* Row() { return block_.data() + filled_ * width_; }
  //! Takes the row just written.
  void CommitRow() {
    ++rows_;
    if (++filled_ == block_rows_) Flush();
  }
  std::int64_t rows() const { return rows_; }
  //! The levels of column `index`, to add to (strings).
  std::vector<std::string>& Levels(std::size_t index) { return columns_[index].levels; }
  //! The frame; the builder is empty afterwards. Name, origin and hash are the caller's to set.
  Frame Finish();

 private:
  struct Storage;
  void Flush();

  std::vector<ColumnInfo> columns_;
  std::vector<ColumnRole> roles_;
  std::vector<double> block_;
  std::size_t width_ = 0;
  std::size_t block_rows_ = 1;
  std::size_t filled_ = 0;
  std::int64_t rows_ = 0;
  std::unique_ptr<Storage> storage_;
};

}  // namespace retable::datasets
