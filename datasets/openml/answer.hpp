#pragma once
//! @file
//! What an answer of OpenML's REST interface is worth.

#include <cstdint>
#include <string>

#include "datasets/openml/json.hpp"

namespace retable::datasets {

struct HttpResponse;

//! No answer but a data set's file is larger than this, compressed or not.
inline constexpr std::int64_t kLargestAnswer = 64 << 20;

//! The text of an answer, or what is wrong and whether to ask again.
struct ApiAnswer {
  std::string text;
  std::string error;
  bool good = false;
  bool again = false;
  bool not_found = false;
  bool unknown_path = false;  //!< the server has another version of the API
};

//! Judges an answer by its status and its body, which may be compressed. Never throws for what a
//! server sends.
ApiAnswer JudgeAnswer(const HttpResponse& response, std::string body);

bool IsBusy(int status);
bool IsUnknown(const ApiError& error);
//! One printable line.
std::string Describe(const ApiError& error);

}  // namespace retable::datasets
