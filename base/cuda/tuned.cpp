#include "base/cuda/tuned.hpp"

#include <charconv>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>

namespace retable {
namespace {

using Values = std::map<std::string, std::uint64_t, std::less<>>;

std::shared_mutex& Lock() {
  static std::shared_mutex lock;
  return lock;
}

Values& InForce() {
  static Values values;
  return values;
}

}  // namespace

std::vector<std::uint64_t> ValuesOf(const TunedConstant& constant) {
  std::vector<std::uint64_t> values{constant.standard};
  for (const std::uint64_t value : constant.tried) {
    if (value != 0 && value != constant.standard) values.push_back(value);
  }
  return values;
}

std::uint64_t Tuned(const TunedConstant& constant) {
  const std::shared_lock held(Lock());
  const auto found = InForce().find(constant.name);
  return found == InForce().end() ? constant.standard : found->second;
}

void SetTuned(std::string_view name, std::uint64_t value) {
  const std::unique_lock held(Lock());
  InForce().insert_or_assign(std::string(name), value);
}

void ClearTuned() {
  const std::unique_lock held(Lock());
  InForce().clear();
}

void ReadTuned(const std::string& text, const std::string& source) {
  Values read;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, digits, more;
    if (!(words >> name)) continue;
    std::uint64_t value = 0;
    words >> digits;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (end.ec != std::errc() || end.ptr != digits.data() + digits.size() || value == 0 ||
        words >> more) {
      throw std::invalid_argument(source + ":" + std::to_string(number) + ": \"" + line +
                                  "\" is no name and number; remove the file, or run `retable "
                                  "tune` again");
    }
    read[name] = value;
  }
  const std::unique_lock held(Lock());
  for (const auto& [name, value] : read) InForce().insert_or_assign(name, value);
}

std::string WriteTuned() {
  const std::shared_lock held(Lock());
  std::string text;
  for (const auto& [name, value] : InForce()) text += name + " " + std::to_string(value) + "\n";
  return text;
}

}  // namespace retable
