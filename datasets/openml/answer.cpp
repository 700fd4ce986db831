#include "datasets/openml/answer.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "datasets/openml/gzip.hpp"
#include "datasets/openml/http.hpp"

namespace retable::datasets {

bool IsBusy(int status) {
  return status == 429 || status >= 500;
}

bool IsUnknown(const ApiError& error) {
  // 111 data set, 113 its file, 151 task, 271/272 features, 361/362 qualities, 372 list.
  constexpr int kCodes[] = {110, 111, 113, 131, 151, 271, 272, 361, 362, 372};
  return std::find(std::begin(kCodes), std::end(kCodes), error.code) != std::end(kCodes);
}

std::string Describe(const ApiError& error) {
  std::string message = error.message.substr(0, 1000);
  // What a terminal would obey.
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return "OpenML error " + std::to_string(error.code) + ": " + message;
}

ApiAnswer JudgeAnswer(const HttpResponse& r, std::string text) {
  ApiAnswer answer;
  answer.again = r.interrupted || IsBusy(r.status);
  answer.error = r.error;
  std::optional<ApiError> error;
  try {
    if (IsGzip(text)) text = Gunzip(text, kLargestAnswer);
    error = ParseApiError(text);
  } catch (const std::runtime_error& damage) {  // a damaged gzip body
    answer.error = damage.what();
    answer.again = true;
    return answer;
  }
  const bool html = LooksLikeHtml(text);
  if (error) {
    answer.error = Describe(*error);
    answer.again = answer.again || error->code == 107;
    answer.unknown_path = r.status == 404 && error->code == 0;
    answer.not_found = IsUnknown(*error) || answer.unknown_path;
  } else if (r.ok() && !html) {
    answer.good = true;
    answer.text = std::move(text);
  } else if (r.status == 404) {
    answer.not_found = true;
    answer.error.clear();
  } else if (html) {
    answer.error = "an HTML page instead of data" + (r.ok() ? "" : " (" + r.error + ")");
    answer.again = answer.again || r.ok();
  }
  return answer;
}

}  // namespace retable::datasets
