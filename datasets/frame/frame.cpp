#include "datasets/frame/frame.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace retable::datasets {
namespace {

//! A vector's growth by half: std::vector doubles, which would break the memory promise.
template <class T>
void GrowFor(std::vector<T>& v, std::size_t more) {
  if (v.size() + more > v.capacity()) {
    v.reserve(std::max(v.size() + more, v.capacity() + v.capacity() / 2));
  }
}

//! One column's values in the narrowest form that has lost nothing so far.
class NarrowColumn {
 public:
  void KeepWide() {
    keep_wide_ = true;
    form_ = Form::kWide;
  }

  //! Appends count values, `stride` doubles apart.
  void Append(const double* v, std::size_t count, std::size_t stride) {
    std::size_t i = 0;
    while (i < count) {
      // Each call takes values until one does not fit the form, and changes the form there.
      switch (form_) {
        case Form::kByte:
          i = AppendCodes(codes8, v, i, count, stride);
          if (i < count) Leave(codes8, v[i * stride]);
          break;
        case Form::kShort:
          i = AppendCodes(codes16, v, i, count, stride);
          if (i < count) Leave(codes16, v[i * stride]);
          break;
        case Form::kFloat:
          i = AppendFloats(v, i, count, stride);
          break;
        case Form::kWide:
          i = AppendWide(v, i, count, stride);
          break;
      }
    }
  }

  //! Fills `floats` from whatever form the values have, and gives back spare capacity.
  void Finish() {
    if (form_ == Form::kByte) {
      codes8.shrink_to_fit();
      floats.assign(codes8.begin(), codes8.end());
    } else if (form_ == Form::kShort) {
      codes16.shrink_to_fit();
      floats.assign(codes16.begin(), codes16.end());
    } else if (form_ == Form::kWide) {
      wide.shrink_to_fit();
      floats.resize(wide.size());
      std::transform(wide.begin(), wide.end(), floats.begin(), ToFloat);
    } else {
      floats.shrink_to_fit();
    }
  }

  std::vector<std::uint8_t> codes8;
  std::vector<std::uint16_t> codes16;
  std::vector<float> floats;
  std::vector<double> wide;
  std::int64_t missing = 0;

 private:
  enum class Form { kByte, kShort, kFloat, kWide };

  template <class Code>
  static bool Fits(double v) {
    return v >= 0 && v <= std::numeric_limits<Code>::max() &&
           static_cast<double>(static_cast<int>(v)) == v;
  }

  template <class Code>
  static std::size_t AppendCodes(std::vector<Code>& codes, const double* v, std::size_t i,
                                 std::size_t count, std::size_t stride) {
    const std::size_t start = codes.size();
    GrowFor(codes, count - i);
    codes.resize(start + count - i);
    std::size_t taken = start;
    for (; i < count && Fits<Code>(v[i * stride]); ++i) {
      codes[taken++] = static_cast<Code>(v[i * stride]);
    }
    codes.resize(taken);
    return i;
  }

  //! Moves the codes to the next form, which takes `v`.
  template <class Code>
  void Leave(std::vector<Code>& codes, double v) {
    if (sizeof(Code) == 1 && Fits<std::uint16_t>(v)) {
      codes16.assign(codes.begin(), codes.end());
      form_ = Form::kShort;
    } else {
      floats.assign(codes.begin(), codes.end());
      form_ = Form::kFloat;
    }
    codes = {};
  }

  std::size_t AppendFloats(const double* v, std::size_t i, std::size_t count, std::size_t stride) {
    GrowFor(floats, count - i);
    for (; i < count; ++i) {
      const double x = v[i * stride];
      const float f = ToFloat(x);
      if (std::isnan(x)) {
        ++missing;
      } else if (whole_ && static_cast<double>(f) != x) {
        if (std::floor(x) == x) {
          wide.assign(floats.begin(), floats.end());
          floats = {};
          form_ = Form::kWide;
          return i;
        }
        whole_ = false;
      } else if (whole_ && std::floor(x) != x) {
        whole_ = false;
      }
      floats.push_back(f);
    }
    return i;
  }

  std::size_t AppendWide(const double* v, std::size_t i, std::size_t count, std::size_t stride) {
    GrowFor(wide, count - i);
    for (; i < count; ++i) {
      const double x = v[i * stride];
      if (std::isnan(x)) {
        ++missing;
      } else if (!keep_wide_ && std::floor(x) != x) {
        // Fractions among them: decimals are not exact in any binary form, float32 it is.
        floats.resize(wide.size());
        std::transform(wide.begin(), wide.end(), floats.begin(), ToFloat);
        wide = {};
        whole_ = false;
        form_ = Form::kFloat;
        return i;
      }
      wide.push_back(x);
    }
    return i;
  }

  Form form_ = Form::kByte;
  bool whole_ = true;
  bool keep_wide_ = false;
};

}  // namespace

float ToFloat(double v) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (v > kMax) return std::numeric_limits<float>::infinity();
  if (v < -kMax) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(v);
}

const char* KindName(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kNominal:
      return "nominal";
    case ColumnKind::kDate:
      return "date";
    case ColumnKind::kString:
      return "string";
    case ColumnKind::kNumeric:
      break;
  }
  return "numeric";
}

std::vector<ColumnRole> LastIsTarget(const std::vector<ColumnInfo>& columns) {
  std::vector<ColumnRole> roles(columns.size(), ColumnRole::kFeature);
  roles.back() = ColumnRole::kTarget;
  return roles;
}

const Column* Frame::Find(const std::string& column) const {
  for (const Column& c : columns) {
    if (c.name == column) return &c;
  }
  return nullptr;
}

std::vector<float> Frame::RowMajor() const {
  const auto n = static_cast<std::size_t>(rows);
  const std::size_t width = columns.size();
  std::vector<float> out(n * width);
  // Square tiles keep both sides in cache.
  constexpr std::size_t kTile = 64;
  for (std::size_t r0 = 0; r0 < n; r0 += kTile) {
    const std::size_t r1 = std::min(n, r0 + kTile);
    for (std::size_t c = 0; c < width; ++c) {
      const float* from = columns[c].values.data();
      for (std::size_t r = r0; r < r1; ++r) out[r * width + c] = from[r];
    }
  }
  return out;
}

struct FrameBuilder::Storage {
  std::vector<NarrowColumn> columns;
};

FrameBuilder::FrameBuilder(std::vector<ColumnInfo> columns, std::vector<ColumnRole> roles,
                           bool doubles)
    : columns_(std::move(columns)),
      roles_(std::move(roles)),
      width_(columns_.size()),
      storage_(std::make_unique<Storage>()) {
  if (roles_.size() != columns_.size()) {
    throw std::invalid_argument("a frame needs one role for each column");
  }
  constexpr std::size_t kBlockDoubles = 64 * 1024;
  block_rows_ = std::clamp<std::size_t>(kBlockDoubles / std::max<std::size_t>(1, width_), 8, 1024);
  block_.resize(block_rows_ * std::max<std::size_t>(1, width_));
  storage_->columns.resize(width_);
  for (std::size_t c = 0; c < width_; ++c) {
    const ColumnKind kind = columns_[c].kind;
    const bool number = doubles && kind == ColumnKind::kNumeric;
    if (number || kind == ColumnKind::kDate) storage_->columns[c].KeepWide();
  }
}

FrameBuilder::~FrameBuilder() = default;
FrameBuilder::FrameBuilder(FrameBuilder&&) noexcept = default;
FrameBuilder& FrameBuilder::operator=(FrameBuilder&&) noexcept = default;

void FrameBuilder::Flush() {
  for (std::size_t c = 0; c < width_; ++c) {
    if (roles_[c] == ColumnRole::kIgnored) continue;
    storage_->columns[c].Append(block_.data() + c, filled_, width_);
  }
  filled_ = 0;
}

Frame FrameBuilder::Finish() {
  Flush();
  block_ = {};
  Frame frame;
  frame.rows = rows_;
  for (std::size_t c = 0; c < width_; ++c) {
    if (roles_[c] == ColumnRole::kIgnored) continue;
    NarrowColumn& narrow = storage_->columns[c];
    narrow.Finish();
    Column column;
    static_cast<ColumnInfo&>(column) = std::move(columns_[c]);
    column.values = narrow.floats;
    column.codes8 = narrow.codes8;
    column.codes16 = narrow.codes16;
    column.wide = narrow.wide;
    column.missing = narrow.missing;
    // Sparse rows that all leave a string out hold its first value, which nobody named.
    const bool held = static_cast<std::int64_t>(column.values.size()) > column.missing;
    if (column.kind == ColumnKind::kString && column.levels.empty() && held) {
      column.levels.emplace_back();
    }
    // Only one target: a file which names several keeps the first, the others are no features.
    if (roles_[c] == ColumnRole::kFeature) {
      frame.columns.push_back(std::move(column));
    } else if (!frame.target) {
      frame.target = std::move(column);
    }
  }
  frame.storage = std::shared_ptr<const Storage>(std::move(storage_));
  rows_ = 0;
  return frame;
}

}  // namespace retable::datasets
