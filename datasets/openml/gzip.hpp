#pragma once
//! @file
//! gzip, told by its first two bytes, whatever a server calls the content.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace retable::datasets {

//! True for bytes that start as gzip does (1f 8b).
bool IsGzip(std::string_view bytes);

//! What is refused as a decompression bomb: text of more than 64 MiB and 400 times its compressed
//! size. (gzip itself ends at 1030 times; rows of nothing but "0," come to 500.)
inline constexpr std::int64_t kBombFrom = 64 << 20;
inline constexpr std::int64_t kBombRatio = 400;

//! @param longest refuses longer text; 0: no limit but that of bombs  @throws std::runtime_error
//! for damaged, truncated or refused input. Members one after another are joined.
std::string Gunzip(std::string_view bytes, std::int64_t longest = 0);

//! @param level 1 (fast) to 9 (small)
std::string GzipCompress(std::string_view bytes, int level = 6);

//! Decompresses a stream piece by piece, or passes it through when it is not gzip.
class Inflater {
 public:
  using Sink = std::function<void(std::string_view)>;
  //! `sink` gets the decompressed pieces, of at most 256 KiB each.
  explicit Inflater(Sink sink);
  ~Inflater();
  //! @throws std::runtime_error for damaged input and bombs.
  void Feed(std::string_view bytes);
  //! Call at the end of input. @throws std::runtime_error when the stream is cut short.
  void Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::datasets
