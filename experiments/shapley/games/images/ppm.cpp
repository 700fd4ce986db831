#include "experiments/shapley/games/images/ppm.hpp"

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
  std::string_view Rest() const {
    if (at_ == bytes_.size() || !IsSpace(bytes_[at_])) {
      Fail("no white space parts its header and its pixels");
    }
    return bytes_.substr(at_ + 1);
  }

  [[noreturn]] void Fail(const std::string& why) const {
    throw std::invalid_argument(file_ + ": " + why +
                                "; a binary PPM or PGM (P6 or P5, depth 255) is needed");
  }

  // Channels by the two letters at the front.
  std::size_t Magic() {
    if (!bytes_.starts_with("P6") && !bytes_.starts_with("P5"))
      Fail("it begins with neither P6 nor P5");
    at_ = 2;
    return bytes_[1] == '6' ? 3 : 1;
  }

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  void Skip() {
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (IsSpace(bytes_[at_])) {
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
  const std::size_t channels = header.Magic();
  const std::size_t width = header.Number(), height = header.Number();
  if (header.Number() != 255) header.Fail("its depth is not 255");
  const std::string_view pixels = header.Rest();
  const std::size_t size = channels * width * height;
  if (pixels.size() < size) header.Fail("it is cut short");
  if (pixels.size() > size) {
    header.Fail("bytes beyond its header, one white space and its pixels: " +
                std::to_string(pixels.size() - size));
  }
  Image image{channels, height, width, std::vector<float>(size)};
  for (std::size_t k = 0; k < height * width; ++k) {
    for (std::size_t c = 0; c < channels; ++c) {
      const auto byte = static_cast<unsigned char>(pixels[channels * k + c]);
      image.values[c * height * width + k] = static_cast<float>(byte) / 255.0f;
    }
  }
  return image;
}

}  // namespace retable::experiments
