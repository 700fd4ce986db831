#include "datasets/frame/encode.hpp"

#include <cmath>
#include <stdexcept>

namespace retable::datasets {
namespace {

//! One column of the result: where it comes from, and which level it marks (-1 copies, -2 missing).
struct IndicatorSource {
  std::size_t column;
  int level;
};

constexpr int kCopy = -1;
constexpr int kMissingLevel = -2;

std::vector<IndicatorSource> SourcesOf(const Column& column, std::size_t index) {
  if (column.kind != ColumnKind::kNominal) return {{index, kCopy}};
  std::vector<IndicatorSource> sources;
  for (std::size_t level = 0; level < column.levels.size(); ++level) {
    sources.push_back({index, static_cast<int>(level)});
  }
  if (column.missing > 0) sources.push_back({index, kMissingLevel});
  if (sources.size() == 2) sources.erase(sources.begin());
  return sources;
}

double Encode(const Column& column, std::size_t row, int level) {
  if (level == kCopy) return column.At(row);
  const float value = column.values[row];
  if (level == kMissingLevel) return std::isnan(value) ? 1.0 : 0.0;
  return value == static_cast<float>(level) ? 1.0 : 0.0;
}

ColumnInfo InfoOf(const Column& column, int level) {
  if (level == kCopy) return {column.name, column.kind, column.levels};
  const std::string suffix =
      level == kMissingLevel ? "missing" : column.levels[static_cast<std::size_t>(level)];
  return {column.name + "=" + suffix, ColumnKind::kNumeric, {}};
}

//! What was built of a frame, under that frame's name.
Frame Finished(FrameBuilder& builder, const Frame& from) {
  Frame frame = builder.Finish();
  frame.name = from.name;
  frame.origin = from.origin;
  frame.sha256 = from.sha256;
  frame.complete = from.complete;
  return frame;
}

}  // namespace

Frame OneHot(const Frame& frame) {
  std::vector<IndicatorSource> sources;
  std::vector<ColumnInfo> infos;
  for (std::size_t c = 0; c < frame.columns.size(); ++c) {
    for (const IndicatorSource& source : SourcesOf(frame.columns[c], c)) {
      sources.push_back(source);
      infos.push_back(InfoOf(frame.columns[c], source.level));
    }
  }
  std::vector<ColumnRole> roles(infos.size(), ColumnRole::kFeature);
  if (frame.target) {
    infos.push_back(*frame.target);
    roles.push_back(ColumnRole::kTarget);
  }
  FrameBuilder builder(std::move(infos), std::move(roles));
  for (std::size_t r = 0; r < static_cast<std::size_t>(frame.rows); ++r) {
    double* row = builder.Row();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      row[i] = Encode(frame.columns[sources[i].column], r, sources[i].level);
    }
    if (frame.target) row[sources.size()] = frame.target->At(r);
    builder.CommitRow();
  }
  return Finished(builder, frame);
}

Frame CaliforniaHousing(const Frame& houses) {
  const auto find = [&houses](const char* name) -> const Column& {
    const Column* column = houses.Find(name);
    if (column == nullptr) {
      throw std::invalid_argument(houses.name + " has no attribute \"" + name +
                                  "\"; the California housing data are OpenML 537");
    }
    return *column;
  };
  const Column& households = find("households");
  struct Derived {
    const char* name;
    const Column& column;
    bool per_household;
  };
  const Derived derived[] = {
      {"MedInc", find("median_income"), false},  {"HouseAge", find("housing_median_age"), false},
      {"AveRooms", find("total_rooms"), true},   {"AveBedrms", find("total_bedrooms"), true},
      {"Population", find("population"), false}, {"AveOccup", find("population"), true},
      {"Latitude", find("latitude"), false},     {"Longitude", find("longitude"), false}};
  if (!houses.target) throw std::invalid_argument(houses.name + " has no target");
  std::vector<ColumnInfo> infos;
  for (const Derived& d : derived) infos.push_back({d.name, ColumnKind::kNumeric, {}});
  infos.push_back({"MedHouseVal", ColumnKind::kNumeric, {}});
  FrameBuilder builder(infos, LastIsTarget(infos));
  for (std::size_t r = 0; r < static_cast<std::size_t>(houses.rows); ++r) {
    double* row = builder.Row();
    for (const Derived& d : derived) {
      *row++ = d.per_household ? d.column.At(r) / households.At(r) : d.column.At(r);
    }
    *row = houses.target->At(r) / 100000.0;
    builder.CommitRow();
  }
  return Finished(builder, houses);
}

}  // namespace retable::datasets
