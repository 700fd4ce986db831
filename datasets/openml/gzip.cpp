#include "datasets/openml/gzip.hpp"

#include <zlib.h>
#include <algorithm>
#include <stdexcept>
#include <vector>

namespace retable::datasets {
namespace {

constexpr std::size_t kPiece = 256 * 1024;
constexpr int kGzipWindow = 15 + 16;  // 32 KiB window, gzip wrapper

}  // namespace

struct Inflater::State {
  enum class Mode { kUnknown, kPlain, kGzip };
  Sink sink;
  Mode mode = Mode::kUnknown;
  std::string head;  //!< fewer than two bytes, undecided
  z_stream stream{};
  bool open = false;
  bool member_ended = false;
  bool padding = false;  //!< behind the last member: what follows is passed over, however it is cut
  std::int64_t fed = 0, text = 0;  //!< bytes so far, compressed and not
  std::vector<char> out = std::vector<char>(kPiece);

  ~State() {
    if (open) inflateEnd(&stream);
  }

  void Open() {
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw std::runtime_error("gzip: no memory");
    open = true;
    mode = Mode::kGzip;
  }

  void Inflate(std::string_view bytes) {
    while (!bytes.empty() && !padding) {
      if (member_ended) {
        // Another member, or padding (tar-like zeros), which ends the stream.
        padding = bytes[0] == '\0';
        if (padding) return;
        if (inflateReset(&stream) != Z_OK) throw std::runtime_error("gzip: cannot start over");
        member_ended = false;
      }
      const auto piece = static_cast<uInt>(std::min<std::size_t>(bytes.size(), 1u << 30));
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = piece;
      Drain();
      bytes.remove_prefix(piece - stream.avail_in);
    }
  }

  //! Runs zlib until its input is used up or the member ends.
  void Drain() {
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      const int status = inflate(&stream, Z_NO_FLUSH);
      const std::size_t made = out.size() - stream.avail_out;
      text += static_cast<std::int64_t>(made);
      if (text > kBombFrom && text / kBombRatio > fed) {
        throw std::runtime_error("gzip: " + std::to_string(fed) + " bytes expand to more than " +
                                 std::to_string(text) + ": refused as a decompression bomb");
      }
      if (made > 0) sink(std::string_view(out.data(), made));
      if (status == Z_STREAM_END) {
        member_ended = true;
        return;
      }
      if (status == Z_BUF_ERROR) return;  // wants more input
      if (status != Z_OK) {
        throw std::runtime_error(std::string("gzip: damaged data") +
                                 (stream.msg != nullptr ? std::string(": ") + stream.msg : ""));
      }
    } while (stream.avail_in > 0 || stream.avail_out == 0);
  }
};

bool IsGzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

Inflater::Inflater(Sink sink) : state_(std::make_unique<State>()) {
  state_->sink = std::move(sink);
}

Inflater::~Inflater() = default;

void Inflater::Feed(std::string_view bytes) {
  State& s = *state_;
  s.fed += static_cast<std::int64_t>(bytes.size());
  if (s.mode == State::Mode::kUnknown) {
    s.head.append(bytes);
    if (s.head.size() < 2) return;
    const std::string first = std::move(s.head);
    if (IsGzip(first)) {
      s.Open();
      s.Inflate(first);
    } else {
      s.mode = State::Mode::kPlain;
      s.sink(first);
    }
  } else if (s.mode == State::Mode::kGzip) {
    s.Inflate(bytes);
  } else {
    s.sink(bytes);
  }
}

void Inflater::Finish() {
  State& s = *state_;
  if (s.mode == State::Mode::kUnknown && !s.head.empty()) s.sink(s.head);
  if (s.mode == State::Mode::kGzip && !s.member_ended) {
    throw std::runtime_error("gzip: the data end too early");
  }
}

std::string Gunzip(std::string_view bytes, std::int64_t longest) {
  std::string out;
  Inflater inflater([&](std::string_view piece) {
    out.append(piece);
    if (longest > 0 && static_cast<std::int64_t>(out.size()) > longest) {
      throw std::runtime_error("gzip: more than " + std::to_string(longest) + " bytes");
    }
  });
  inflater.Feed(bytes);
  inflater.Finish();
  return out;
}

std::string GzipCompress(std::string_view bytes, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("gzip: no memory");
  }
  std::string out;
  std::vector<char> piece(kPiece);
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const auto take = static_cast<uInt>(std::min<std::size_t>(bytes.size(), 1u << 30));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = take;
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = deflate(&stream, take == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    bytes.remove_prefix(take - stream.avail_in);
    out.append(piece.data(), piece.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace retable::datasets
