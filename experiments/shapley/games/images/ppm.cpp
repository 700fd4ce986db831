#include "experiments/shapley/games/images/ppm.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace retable::experiments {
namespace {

// Whole numbers of a header, parted by white space and comments.
class Header {
 public:
  Header(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::size_t Number() {
    Skip();
    std::size_t value = 0;
    const char* begin = bytes_.data() + at_;
    const auto [end, error] = std::from_chars(begin, bytes_.data() + bytes_.size(), value);
    if (error != std::errc() || value == 0 || value > 65535) Fail("its header is damaged");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  // What follows the header and one white space.
  std::string_view Rest() const { return bytes_.substr(std::min(at_ + 1, bytes_.size())); }

  [[noreturn]] void Fail(const std::string& why) const {
    throw std::invalid_argument(file_ + ": " + why + "; a binary PPM (P6, depth 255) is needed");
  }

  void Expect(std::string_view magic) {
    if (bytes_.substr(0, magic.size()) != magic) Fail("it does not begin with P6");
    at_ = magic.size();
  }

 private:
  void Skip() {
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (bytes_[at_] == ' ' || bytes_[at_] == '\n' || bytes_[at_] == '\t' ||
                 bytes_[at_] == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace

Image ReadPpm(std::string_view bytes, const std::string& file) {
  Header header(bytes, file);
  header.Expect("P6");
  const std::size_t width = header.Number(), height = header.Number();
  if (header.Number() != 255) header.Fail("its depth is not 255");
  const std::string_view pixels = header.Rest();
  if (pixels.size() < 3 * width * height) header.Fail("it is cut short");
  Image image{3, height, width, std::vector<float>(3 * height * width)};
  for (std::size_t k = 0; k < height * width; ++k) {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto byte = static_cast<unsigned char>(pixels[3 * k + c]);
      image.values[c * height * width + k] = static_cast<float>(byte) / 255.0f;
    }
  }
  return image;
}

}  // namespace retable::experiments
