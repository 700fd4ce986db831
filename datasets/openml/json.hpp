#pragma once
//! @file
//! What OpenML's servers answer, read tolerantly: today's v1 (every scalar a string, lists of one
//! collapsed to a scalar, nothing given as [], errors in XML), the coming v2 (typed, flat, null
//! where unset), and XML where an end point answers XML although JSON was asked for. The formats'
//! facts: openml.org/apis and openml.github.io/server-api/migration.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retable::datasets {

//! An answer which is not what was asked for.
class ShapeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

//! A data set's description.
struct Description {
  int id = 0;
  std::string name;
  std::string version;
  std::string format;  //!< lower case: "arff", "sparse_arff"
  std::string licence;
  std::string url;
  std::string md5;  //!< lower case, or empty
  std::vector<std::string> targets;
  std::vector<std::string> row_ids;
  std::vector<std::string> ignored;
};

struct Feature {
  std::int64_t index = 0;
  std::string name;
  bool is_target = false;
  bool is_ignore = false;
  bool is_row_identifier = false;
};

//! An error as the API reports it.
struct ApiError {
  int code = 0;  //!< 111 unknown data set, 107 too busy, ...; 0 when none is given
  std::string message;
};

//! @throws ShapeError
Description ParseDescription(std::string_view body);
//! @throws ShapeError
std::vector<Feature> ParseFeatures(std::string_view body);
//! The error in a body, in any of the forms, or nothing.
std::optional<ApiError> ParseApiError(std::string_view body);
//! True for an HTML page, whatever the server calls it.
bool LooksLikeHtml(std::string_view body);

}  // namespace retable::datasets
