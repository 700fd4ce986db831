#include "datasets/frame/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"

namespace retable::datasets {
namespace {

using Json = nlohmann::json;

constexpr char kMagic[8] = {'R', 'E', 'T', 'A', 'B', 'L', 'E', '2'};
constexpr std::size_t kAlign = 64, kHash = 64;

std::size_t Aligned(std::size_t n) {
  return (n + kAlign - 1) / kAlign * kAlign;
}

struct Form {
  const char* name;
  std::string_view bytes;
};

template <class T>
std::string_view Bytes(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

Form FormOf(const Column& column) {
  if (!column.codes8.empty()) return {"u8", Bytes(column.codes8)};
  if (!column.codes16.empty()) return {"u16", Bytes(column.codes16)};
  if (!column.wide.empty()) return {"f64", Bytes(column.wide)};
  return {"f32", Bytes(column.values)};
}

//! All columns, the target last.
std::vector<const Column*> AllColumns(const Frame& frame) {
  std::vector<const Column*> all;
  for (const Column& column : frame.columns) all.push_back(&column);
  if (frame.target) all.push_back(&*frame.target);
  return all;
}

//! A mapped file and the float32 values which it has only as codes.
struct MappedFrame {
  void* address = MAP_FAILED;
  std::size_t size = 0;
  std::unique_ptr<float[]> floats;

  ~MappedFrame() {
    if (address != MAP_FAILED) munmap(address, size);
  }
  const char* bytes() const { return static_cast<const char*>(address); }
};

std::shared_ptr<MappedFrame> Map(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw FrameFileError("cannot open " + path.string());
  struct stat status {};
  auto mapped = std::make_shared<MappedFrame>();
  if (fstat(descriptor, &status) == 0 && status.st_size > 16) {
    mapped->size = static_cast<std::size_t>(status.st_size);
    mapped->address = mmap(nullptr, mapped->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  close(descriptor);
  if (mapped->address == MAP_FAILED) throw FrameFileError("cannot map " + path.string());
  return mapped;
}

//! One column's place in the file, checked against the file's size.
class ColumnReader {
 public:
  ColumnReader(std::string_view bytes, std::size_t payload, std::size_t rows)
      : bytes_(bytes), payload_(payload), rows_(rows) {}

  template <class T>
  std::span<const T> View(std::size_t offset) const {
    const std::size_t room = bytes_.size() - payload_;
    const bool aligned = (payload_ + offset) % kAlign == 0;
    if (!aligned || offset > room || rows_ > (room - offset) / sizeof(T)) {
      throw FrameFileError("a frame file is cut short");
    }
    return {reinterpret_cast<const T*>(bytes_.data() + payload_ + offset), rows_};
  }

 private:
  std::string_view bytes_;
  std::size_t payload_;
  std::size_t rows_;
};

template <class T>
std::span<const float> Widen(std::span<const T> from, float*& next) {
  float* const first = next;
  for (const T value : from) {
    if constexpr (sizeof(T) == 8) {
      *next++ = ToFloat(value);
    } else {
      *next++ = static_cast<float>(value);
    }
  }
  return {first, from.size()};
}

//! A level's code is an index: one that is out of range would be read out of range.
void CheckCodes(const Column& column) {
  if (column.kind != ColumnKind::kNominal && column.kind != ColumnKind::kString) return;
  const auto levels = static_cast<float>(column.levels.size());
  for (const float code : column.values) {
    if (code < 0 || code >= levels) throw FrameFileError("a frame file has a code without a level");
  }
}

//! A whole number alone: 1e300 made an integer is undefined behaviour.
std::int64_t Whole(const Json& json) {
  return json.get_ref<const Json::number_integer_t&>();
}

Column ReadColumn(const Json& json, const ColumnReader& reader, float*& next) {
  Column column;
  column.name = json.at("name");
  const std::int64_t kind = Whole(json.at("kind"));
  if (kind < 0 || kind > static_cast<int>(ColumnKind::kString)) {
    throw FrameFileError("a frame file has a column of no known kind");
  }
  column.kind = static_cast<ColumnKind>(kind);
  column.levels = json.value("levels", std::vector<std::string>());
  column.missing = Whole(json.at("missing"));
  const std::string form = json.at("form");
  const auto offset = static_cast<std::size_t>(Whole(json.at("offset")));
  if (form == "u8") {
    column.codes8 = reader.View<std::uint8_t>(offset);
    column.values = Widen(column.codes8, next);
  } else if (form == "u16") {
    column.codes16 = reader.View<std::uint16_t>(offset);
    column.values = Widen(column.codes16, next);
  } else if (form == "f64") {
    column.wide = reader.View<double>(offset);
    column.values = Widen(column.wide, next);
  } else {
    column.values = reader.View<float>(offset);
  }
  CheckCodes(column);
  return column;
}

}  // namespace

void WriteFrameFile(const Frame& frame, const std::filesystem::path& path) {
  Json header = {{"name", frame.name},      {"origin", frame.origin},
                 {"sha256", frame.sha256},  {"complete", frame.complete},
                 {"rows", frame.rows},      {"has_target", frame.target.has_value()},
                 {"columns", Json::array()}};
  std::size_t offset = 0;
  const auto columns = AllColumns(frame);
  for (const Column* column : columns) {
    const Form form = FormOf(*column);
    Json json = {{"name", column->name},
                 {"kind", static_cast<int>(column->kind)},
                 {"missing", column->missing},
                 {"form", form.name},
                 {"offset", offset}};
    if (!column->levels.empty()) json["levels"] = column->levels;
    header["columns"].push_back(std::move(json));
    offset += Aligned(form.bytes.size());
  }
  std::string text = header.dump();
  text.resize(Aligned(16 + text.size()) - 16, ' ');
  const std::uint64_t length = text.size();

  AtomicFile file(path);
  Digest digest(Digest::Kind::kSha256);
  const auto write = [&](std::string_view bytes) {
    digest.Update(bytes);
    file.Write(bytes);
  };
  write({kMagic, sizeof kMagic});
  write({reinterpret_cast<const char*>(&length), sizeof length});
  write(text);
  const std::string padding(kAlign, '\0');
  for (const Column* column : columns) {
    const Form form = FormOf(*column);
    write(form.bytes);
    write(std::string_view(padding).substr(0, Aligned(form.bytes.size()) - form.bytes.size()));
  }
  file.Write(digest.Hex());
  file.Commit();
}

Frame ReadFrameFile(const std::filesystem::path& path) try {
  const auto mapped = Map(path);
  const std::string_view whole(mapped->bytes(), mapped->size);
  if (!whole.starts_with({kMagic, sizeof kMagic}) || whole.size() < 16 + kHash) {
    throw FrameFileError(path.string() + " is not a frame file");
  }
  const std::string_view bytes = whole.substr(0, whole.size() - kHash);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data() + 8, sizeof length);
  if (Sha256(bytes) != whole.substr(bytes.size()) || length > bytes.size() - 16) {
    throw FrameFileError(path.string() + " is damaged");
  }
  const Json header = Json::parse(bytes.substr(16, length));
  Frame frame;
  frame.name = header.at("name");
  frame.origin = header.at("origin");
  frame.sha256 = header.at("sha256");
  frame.complete = header.at("complete");
  frame.rows = Whole(header.at("rows"));
  if (frame.rows < 0) throw FrameFileError(path.string() + " is damaged");
  const auto rows = static_cast<std::size_t>(frame.rows);
  const Json& columns = header.at("columns");
  std::size_t widened = 0;
  for (const Json& json : columns) widened += json.at("form") != "f32";
  // Each of their values takes a byte of the file at least.
  if (widened > 0 && rows > bytes.size() / widened) {
    throw FrameFileError(path.string() + " is damaged");
  }
  mapped->floats = std::make_unique_for_overwrite<float[]>(widened * rows);
  float* next = mapped->floats.get();
  const ColumnReader reader(bytes, 16 + length, rows);
  for (const Json& json : columns) frame.columns.push_back(ReadColumn(json, reader, next));
  if (header.at("has_target").get<bool>() && !frame.columns.empty()) {
    frame.target = std::move(frame.columns.back());
    frame.columns.pop_back();
  }
  frame.storage = mapped;
  return frame;
} catch (const nlohmann::json::exception& error) {
  throw FrameFileError(path.string() + " is damaged: " + error.what());
}

}  // namespace retable::datasets
