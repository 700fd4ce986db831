#include "harness/record/archive.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

namespace retable::harness {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kName = 100;
constexpr int kLevel = 22;
// 128 MB: of cells that lie far apart the second is told by the first.
constexpr int kWindowLog = 27;
// A few bytes must not become gigabytes: what cells pack to is a hundredth at best.
constexpr std::size_t kLeastRoom = std::size_t{64} << 20, kMostFold = 2000;

// The header of a tar file (POSIX ustar).
struct Header {
  char name[kName], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100], magic[6],
      version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
static_assert(sizeof(Header) == kBlock);

void WriteOctal(char* field, std::size_t digits, std::uint64_t value) {
  const std::string text = fmt::format("{:0{}o}", value, digits);
  std::memcpy(field, text.data(), digits);
}

// The sum of a header's bytes, its own field taken as spaces.
std::uint64_t SumOf(Header header) {
  std::memset(header.sum, ' ', sizeof header.sum);
  std::array<unsigned char, kBlock> bytes{};
  std::memcpy(bytes.data(), &header, kBlock);
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

std::string WhyNoName(const std::string& path) {
  if (path.empty() || path.size() > kName) return "is empty or longer than 100 bytes";
  if (path.front() == '/' || path.back() == '/') return "is no file below a folder";
  if (("/" + path + "/").find("/../") != std::string::npos) return "leads out of the folder";
  if (std::ranges::any_of(path, [](unsigned char c) { return c < ' '; })) {
    return "has bytes that are no text";
  }
  return "";
}

Header HeaderOf(const std::string& path, std::uint64_t size) {
  if (const std::string why = WhyNoName(path); !why.empty()) {
    throw ArchiveError("the name \"" + path + "\" " + why);
  }
  Header header{};
  std::memcpy(header.name, path.data(), path.size());
  WriteOctal(header.mode, 7, 0644);
  WriteOctal(header.uid, 7, 0);
  WriteOctal(header.gid, 7, 0);
  WriteOctal(header.size, 11, size);
  WriteOctal(header.time, 11, 0);
  header.type = '0';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  WriteOctal(header.sum, 6, SumOf(header));
  header.sum[7] = ' ';
  return header;
}

std::uint64_t ReadOctal(const char* field, std::size_t digits) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (field[i] < '0' || field[i] > '7') throw ArchiveError("a number in it is not one");
    value = value * 8 + static_cast<std::uint64_t>(field[i] - '0');
  }
  return value;
}

std::size_t Checked(std::size_t result) {
  if (ZSTD_isError(result)) {
    throw ArchiveError(fmt::format("zstd: {}", ZSTD_getErrorName(result)));
  }
  return result;
}

// Packs what it is given, piece by piece: `size` bytes in all.
class Packer {
 public:
  explicit Packer(std::size_t size) {
    Checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel));
    Checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, kWindowLog));
    Checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_enableLongDistanceMatching, 1));
    Checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
    Checked(ZSTD_CCtx_setPledgedSrcSize(context_.get(), size));
  }

  void Add(std::string_view bytes) { Step(bytes, ZSTD_e_continue); }
  void AddBlocks(std::string_view bytes) {
    static constexpr std::array<char, kBlock> kZeros{};
    Add(bytes);
    if (bytes.size() % kBlock != 0) Add({kZeros.data(), kBlock - bytes.size() % kBlock});
  }
  std::string Finish() {
    Step({}, ZSTD_e_end);
    return std::move(packed_);
  }

 private:
  void Step(std::string_view bytes, ZSTD_EndDirective mode) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (std::size_t rest = 1; mode == ZSTD_e_end ? rest != 0 : in.pos < in.size;) {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      rest = Checked(ZSTD_compressStream2(context_.get(), &out, &in, mode));
      packed_.append(buffer_.data(), out.pos);
    }
  }

  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context_{ZSTD_createCCtx(),
                                                                   ZSTD_freeCCtx};
  std::vector<char> buffer_ = std::vector<char>(ZSTD_CStreamOutSize());
  std::string packed_;
};

// Unpacks piece by piece.
class Unpacker {
 public:
  explicit Unpacker(std::string_view archive)
      : in_{archive.data(), archive.size(), 0}, room_(kLeastRoom + kMostFold * archive.size()) {
    Checked(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLog));
  }

  // The next `size` bytes. A size that lies is found before room is made for it.
  std::string Take(std::size_t size) {
    while (buffer_.size() - begin_ < size) {
      if (!Step()) throw ArchiveError("it is cut short");
    }
    std::string bytes = buffer_.substr(begin_, size);
    begin_ += size;
    if (begin_ > kKeep) {
      buffer_.erase(0, begin_);
      begin_ = 0;
    }
    return bytes;
  }

  void ExpectEnd() {
    while (Step()) {
    }
    if (begin_ != buffer_.size() || in_.pos != in_.size) {
      throw ArchiveError("something follows its end");
    }
  }

 private:
  static constexpr std::size_t kKeep = 1 << 20;

  // False at the end of the packed stream.
  bool Step() {
    if (ended_) return false;
    ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
    const std::size_t before = in_.pos;
    ended_ = Checked(ZSTD_decompressStream(context_.get(), &out, &in_)) == 0;
    if (!ended_ && out.pos == 0 && in_.pos == before) throw ArchiveError("it is cut short");
    total_ += out.pos;
    if (total_ > room_) throw ArchiveError("it unpacks to more than any recording holds");
    buffer_.append(piece_.data(), out.pos);
    return true;
  }

  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_{ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx};
  ZSTD_inBuffer in_;
  std::size_t room_, total_ = 0, begin_ = 0;
  bool ended_ = false;
  std::vector<char> piece_ = std::vector<char>(ZSTD_DStreamOutSize());
  std::string buffer_;
};

bool IsZero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == 0; });
}

}  // namespace

std::string PackArchive(const Files& files) {
  std::size_t size = 2 * kBlock;
  for (const auto& [path, content] : files) {
    size += kBlock + (content.size() + kBlock - 1) / kBlock * kBlock;
  }
  Packer packer(size);
  for (const auto& [path, content] : files) {
    const Header header = HeaderOf(path, content.size());
    packer.Add({reinterpret_cast<const char*>(&header), kBlock});
    packer.AddBlocks(content);
  }
  packer.Add(std::string(2 * kBlock, '\0'));
  return packer.Finish();
}

void ReadArchive(std::string_view archive,
                 const std::function<void(const std::string& path, std::string content)>& visit) {
  Unpacker unpacker(archive);
  std::string last;
  while (true) {
    const std::string bytes = unpacker.Take(kBlock);
    if (IsZero(bytes)) break;
    Header header;
    std::memcpy(&header, bytes.data(), kBlock);
    if (std::memcmp(header.magic, "ustar", 6) != 0 || ReadOctal(header.sum, 6) != SumOf(header)) {
      throw ArchiveError("it is no tar file as `retable record` writes it");
    }
    const std::string path(header.name, strnlen(header.name, kName));
    const std::size_t size = ReadOctal(header.size, 11);
    // What this program writes, and nothing else: no links, no devices, no two files of one name.
    const Header wanted = HeaderOf(path, size);
    if (std::memcmp(&wanted, &header, kBlock) != 0 || path <= last) {
      throw ArchiveError("its file \"" + path + "\" is not one that `retable record` writes");
    }
    std::string content = unpacker.Take(size);
    if (!IsZero(unpacker.Take((kBlock - size % kBlock) % kBlock))) {
      throw ArchiveError("bytes lie between its files");
    }
    visit(path, std::move(content));
    last = path;
  }
  if (!IsZero(unpacker.Take(kBlock))) throw ArchiveError("it does not end as a tar file does");
  unpacker.ExpectEnd();
}

}  // namespace retable::harness
