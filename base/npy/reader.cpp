#include "base/npy/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace retable {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 65536;

std::unique_ptr<std::istream> OpenNpy(const std::string& path) {
  auto stream = std::make_unique<std::ifstream>(path, std::ios::binary);
  const int number = errno;
  std::error_code none;
  if (std::filesystem::is_directory(path, none))
    throw std::runtime_error(path + ": Is a directory");
  if (!*stream) throw std::runtime_error(path + ": " + std::generic_category().message(number));
  return stream;
}

//! A Python literal as numpy writes it, read from the left.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}
  bool Accept(char c) {
    const std::size_t at = text_.find_first_not_of(" \n");
    if (at == std::string_view::npos || text_[at] != c) return false;
    text_.remove_prefix(at + 1);
    return true;
  }
  bool Accept(std::string_view word) {
    const std::size_t at = text_.find_first_not_of(' ');
    if (at == std::string_view::npos || !text_.substr(at).starts_with(word)) return false;
    text_.remove_prefix(at + word.size());
    return true;
  }
  //! A text in quotes; false where none stands here.
  bool Text(std::string& text) {
    const char quote = Accept('\'') ? '\'' : Accept('"') ? '"' : '\0';
    const std::size_t end = quote == '\0' ? std::string_view::npos : text_.find(quote);
    if (end == std::string_view::npos) return false;
    text = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return true;
  }
  //! (), (3,) or (3, 4).
  bool Shape(std::vector<std::size_t>& shape) {
    if (!Accept('(')) return false;
    while (!Accept(')')) {
      text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size()));
      std::size_t length = 0;
      const auto read = std::from_chars(text_.data(), text_.data() + text_.size(), length);
      if (read.ec != std::errc()) return false;
      text_.remove_prefix(static_cast<std::size_t>(read.ptr - text_.data()));
      shape.push_back(length);
      Accept('L');  // Python 2
      if (Accept(',')) continue;
      if (!Accept(')')) return false;
      break;
    }
    return true;
  }
  bool blank() const { return text_.find_first_not_of(" \n") == std::string_view::npos; }

 private:
  std::string_view text_;
};

template <class T>
void Widen(const char* from, std::size_t count, double* to, std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i * stride] = static_cast<double>(value);
  }
}

}  // namespace

NpyMatrix::NpyMatrix(const std::string& path) : NpyMatrix(OpenNpy(path), path) {}

NpyMatrix::NpyMatrix(std::unique_ptr<std::istream> stream, std::string file)
    : stream_(std::move(stream)), file_(std::move(file)) {
  ReadHeader();
}

void NpyMatrix::Refuse(const std::string& what) const {
  throw std::invalid_argument(file_ + ": " + what);
}

void NpyMatrix::ReadHeader() {
  std::string start(12, '\0');
  stream_->read(start.data(), static_cast<std::streamsize>(start.size()));
  if (!start.starts_with(kMagic)) {
    Refuse("does not begin as NumPy's files do: write it by numpy.save");
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(start[i]); };
  if (byte(6) < 1 || byte(6) > 3) {
    Refuse("version " + std::to_string(byte(6)) + " of NumPy's format; 1 to 3 are read");
  }
  std::size_t length = byte(8) + 256u * byte(9);
  begin_ = 10;
  if (byte(6) > 1) {
    length += 65536u * byte(10) + 16777216u * byte(11);
    begin_ = 12;
  }
  if (length > kLongestHeader) Refuse("its header has " + std::to_string(length) + " bytes");
  std::string header(length, '\0');
  stream_->clear();
  stream_->seekg(static_cast<std::streamoff>(begin_));
  stream_->read(header.data(), static_cast<std::streamsize>(length));
  if (!*stream_) Refuse("it ends within its header, or is no file that can be sought");
  begin_ += length;
  ParseHeader(header);
  stream_->seekg(0, std::ios::end);
  const auto end = static_cast<std::size_t>(stream_->tellg());
  const std::size_t items = (end - begin_) / bytes_;
  const bool fits = columns_ == 0 ? items == 0 : items / columns_ == rows_ && items % columns_ == 0;
  if (!fits || (end - begin_) % bytes_ != 0) {
    Refuse(std::to_string(end - begin_) + " bytes of values, where its header announces " +
           std::to_string(rows_) + " x " + std::to_string(columns_) + " of " +
           std::to_string(bytes_) + " bytes: write it once more by numpy.save");
  }
}

void NpyMatrix::ParseHeader(std::string_view text) {
  Literal literal(text);
  std::set<std::string> keys;
  std::string key, type;
  std::vector<std::size_t> shape;
  bool good = literal.Accept('{');
  while (good && !literal.Accept('}')) {
    good = literal.Text(key) && literal.Accept(':') && keys.insert(key).second;
    if (!good) break;
    if (key == "descr") {
      if (literal.Accept('[')) {
        Refuse(
            "its items have several fields: save them as columns, as by "
            "numpy.lib.recfunctions.structured_to_unstructured(x)");
      }
      good = literal.Text(type);
    } else if (key == "fortran_order") {
      fortran_ = literal.Accept("True");
      good = fortran_ || literal.Accept("False");
    } else {
      good = key == "shape" && literal.Shape(shape);
    }
    if (good && !literal.Accept(',')) {
      good = literal.Accept('}');
      break;
    }
  }
  if (!good || keys.size() != 3 || !literal.blank()) {
    Refuse("its header is damaged: write it once more by numpy.save");
  }
  TakeType(type);
  TakeShape(shape);
}

void NpyMatrix::TakeType(const std::string& type) {
  static const std::set<std::string> known = {"|b1", "|i1", "|u1", "<i1", "<u1", "<i2", "<u2",
                                              "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"};
  if (type.find('O') != std::string::npos) {
    Refuse("its items are Python objects, which only Python can read: save x.astype('float64')");
  }
  if (!known.contains(type)) {
    Refuse("items of type '" + type +
           "' are not read: save x.astype('<f8'); of words, "
           "numpy.unique(x, return_inverse=True)[1]");
  }
  kind_ = type[1];
  bytes_ = static_cast<std::size_t>(type[2] - '0');
}

void NpyMatrix::TakeShape(const std::vector<std::size_t>& shape) {
  if (shape == std::vector<std::size_t>{0}) Refuse("it has no values");
  if (shape.empty() || shape.size() > 2 || shape.back() == 0) {
    Refuse("an array of " + std::to_string(shape.size()) +
           " dimensions, or without columns; rows and columns are read: save x.reshape(rows, -1)");
  }
  rows_ = shape[0];
  columns_ = shape.size() > 1 ? shape[1] : 1;
}

void NpyMatrix::Read(std::size_t first, std::size_t count, double* to) {
  if (!fortran_) return ReadItems(first * columns_, count * columns_, to, 1);
  for (std::size_t c = 0; c < columns_; ++c) ReadItems(c * rows_ + first, count, to + c, columns_);
}

void NpyMatrix::ReadItems(std::size_t first, std::size_t count, double* to, std::size_t stride) {
  block_.resize(count * bytes_);
  stream_->clear();
  stream_->seekg(static_cast<std::streamoff>(begin_ + first * bytes_));
  stream_->read(block_.data(), static_cast<std::streamsize>(block_.size()));
  if (!*stream_) throw std::runtime_error(file_ + ": it cannot be read, or has become shorter");
  const auto widen = [&](auto zero) { Widen<decltype(zero)>(block_.data(), count, to, stride); };
  const bool sign = kind_ == 'i';
  if (kind_ == 'f') {
    bytes_ == 4 ? widen(float{}) : widen(double{});
  } else if (bytes_ == 1) {
    sign ? widen(std::int8_t{}) : widen(std::uint8_t{});
  } else if (bytes_ == 2) {
    sign ? widen(std::int16_t{}) : widen(std::uint16_t{});
  } else if (bytes_ == 4) {
    sign ? widen(std::int32_t{}) : widen(std::uint32_t{});
  } else {
    sign ? widen(std::int64_t{}) : widen(std::uint64_t{});
  }
}

}  // namespace retable
