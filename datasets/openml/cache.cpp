#include "datasets/openml/cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <unordered_set>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "datasets/arff/parser.hpp"
#include "datasets/frame/file.hpp"
#include "datasets/openml/gzip.hpp"
#include "datasets/openml/url.hpp"
#include "datasets/registry/registry_file.hpp"

namespace retable::datasets {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kRecordFormat = 1;

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

//! Each text, flag and whole number of a record, with its name in the file.
template <class Record, class F>
void ForEachField(Record& r, const F& f) {
  f("id", r.id);
  f("name", r.name);
  f("version", r.version);
  f("licence", r.licence);
  f("file", r.file);
  f("md5", r.md5);
  f("sha256", r.sha256);
  f("pinned", r.pinned);
  f("source", r.source);
  f("fetched", r.fetched);
  f("complete", r.complete);
  f("text_bytes", r.text_bytes);
  f("stored_bytes", r.stored_bytes);
  f("rows", r.rows);
  f("columns", r.columns);
  f("attributes", r.attributes);
}

Json ToJson(const CacheRecord& r) {
  Json j;
  j["format"] = kRecordFormat;
  ForEachField(r, [&](const char* name, const auto& value) { j[name] = value; });
  return j;
}

CacheRecord FromJson(const Json& j) {
  if (j.at("format") != kRecordFormat) throw std::runtime_error("another format");
  CacheRecord r;
  ForEachField(r, [&]<class T>(const char* name, T& value) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      // By type: 1e300 made an integer is undefined behaviour.
      value = static_cast<T>(j.at(name).get_ref<const Json::number_integer_t&>());
    } else {
      j.at(name).get_to(value);
    }
  });
  // Both become parts of paths.
  const bool hex = r.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (SafePath("file:///" + r.file) != r.file || r.sha256.size() != 64 || !hex) {
    throw std::runtime_error("a path that leaves the cache");
  }
  return r;
}

void Label(Frame& frame, const CacheRecord& record) {
  frame.name = OpenMlName(record.id);
  frame.origin = "openml " + std::to_string(record.id);
  frame.sha256 = record.sha256;
  frame.complete = record.complete;
}

//! Hands a file's decompressed text to `sink` piece by piece and returns the raw bytes' MD5.
std::string ReadText(const fs::path& path, const Inflater::Sink& sink) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  Digest raw(Digest::Kind::kMd5);
  Inflater inflater(sink);
  std::string piece(256 * 1024, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(in.gcount()));
    raw.Update(bytes);
    inflater.Feed(bytes);
  }
  inflater.Finish();
  return raw.Hex();
}

struct TextHashes {
  std::string raw_md5;
  std::string md5;
  std::string sha256;
  std::string head;
  std::int64_t bytes = 0;
  std::string damage;  //!< why the compressed stream cannot be read
};

TextHashes HashText(const fs::path& path) {
  TextHashes hashes;
  Digest md5(Digest::Kind::kMd5);
  Digest sha256(Digest::Kind::kSha256);
  try {
    hashes.raw_md5 = ReadText(path, [&](std::string_view piece) {
      if (hashes.head.size() < 512) hashes.head.append(piece.substr(0, 512));
      md5.Update(piece);
      sha256.Update(piece);
      hashes.bytes += static_cast<std::int64_t>(piece.size());
    });
  } catch (const std::runtime_error& error) {
    hashes.damage = error.what();
  }
  hashes.md5 = md5.Hex();
  hashes.sha256 = sha256.Hex();
  return hashes;
}

bool IsGzipFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  char head[2] = {};
  in.read(head, 2);
  return in.gcount() == 2 && IsGzip({head, 2});
}

//! Moves a checked download to its place; plain text is compressed on the way.
void Store(const fs::path& part, const fs::path& target) {
  fs::create_directories(target.parent_path());
  if (IsGzipFile(part)) {
    fs::rename(part, target);
    return;
  }
  AtomicFile out(target);
  std::ifstream in(part, std::ios::binary);
  std::string piece(4 << 20, '\0');
  // Members of 4 MiB one after another are gzip too, and need no more memory than one of them.
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    out.Write(GzipCompress({piece.data(), static_cast<std::size_t>(in.gcount())}, 4));
  }
  out.Commit();
  fs::remove(part);
}

}  // namespace

std::vector<ColumnRole> RolesOf(const std::vector<ColumnInfo>& columns,
                                const Description& description,
                                const std::vector<Feature>& features) {
  std::unordered_set<std::string> dropped(description.ignored.begin(), description.ignored.end());
  dropped.insert(description.row_ids.begin(), description.row_ids.end());
  std::unordered_set<std::string> targets(description.targets.begin(), description.targets.end());
  for (const Feature& f : features) {
    if (f.is_ignore || f.is_row_identifier) dropped.insert(f.name);
    if (f.is_target) targets.insert(f.name);
  }
  std::vector<ColumnRole> roles(columns.size(), ColumnRole::kFeature);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (targets.contains(columns[c].name))
      roles[c] = ColumnRole::kTarget;
    else if (dropped.contains(columns[c].name))
      roles[c] = ColumnRole::kIgnored;
  }
  for (const ColumnInfo& column : columns) targets.erase(column.name);
  if (!targets.empty()) {
    // The label would be taken for a feature.
    throw FetchError(FetchError::Kind::kDamaged,
                     "data set " + std::to_string(description.id) +
                         ": the server names the target \"" +
                         *std::min_element(targets.begin(), targets.end()) +
                         "\", a column that its file does not have");
  }
  return roles;
}

Cache::Cache(fs::path root) : root_(std::move(root)) {}

fs::path Cache::DefaultRoot() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::string(value) : std::string();
  };
  if (const std::string own = set("RETABLE_CACHE"); !own.empty()) return own;
  if (const std::string xdg = set("XDG_CACHE_HOME"); !xdg.empty()) return fs::path(xdg) / "retable";
  if (const std::string home = set("HOME"); !home.empty()) {
    return fs::path(home) / ".cache" / "retable";
  }
  throw std::runtime_error("no folder for the cache: set RETABLE_CACHE, XDG_CACHE_HOME or HOME");
}

fs::path Cache::RecordPath(int id) const {
  return root_ / "records" / (std::to_string(id) + ".json");
}

fs::path Cache::FramePath(const CacheRecord& record) const {
  return root_ / "frames" /
         (std::to_string(record.id) + "-" + record.sha256.substr(0, 16) + ".frame");
}

fs::path Cache::ApiPath(int id, bool features) const {
  const fs::path data = root_ / "openml" / "api" / "v1" / "json" / "data";
  return (features ? data / "features" : data) / std::to_string(id);
}

fs::path Cache::FilePath(const CacheRecord& record) const {
  return root_ / "openml" / record.file;
}

std::optional<CacheRecord> Cache::Find(int id) const {
  std::error_code error;
  if (!fs::exists(RecordPath(id), error)) return {};
  try {
    CacheRecord record = FromJson(Json::parse(ReadWhole(RecordPath(id))));
    if (record.id == id && fs::exists(FilePath(record), error)) return record;
  } catch (const std::exception&) {
    // A record which cannot be read is none: the data set is fetched again.
  }
  return {};
}

std::vector<CacheRecord> Cache::List() const {
  std::set<int> ids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_ / "records", error)) {
    const std::string stem = entry.path().stem();
    int id = 0;
    const char* end = stem.data() + stem.size();
    if (std::from_chars(stem.data(), end, id).ptr == end && entry.path().extension() == ".json") {
      ids.insert(id);
    }
  }
  std::vector<CacheRecord> records;
  for (const int id : ids) {
    if (auto record = Find(id)) records.push_back(std::move(*record));
  }
  return records;
}

void Cache::Reject(const fs::path& body, int id, const std::string& why) const {
  const fs::path aside = root_ / "rejected" / fmt::format("{}-{}-{}", id, Now(), getpid());
  fs::create_directories(aside.parent_path());
  fs::rename(body, aside);
  throw FetchError(FetchError::Kind::kDamaged,
                   why + "; the body was set aside as " + aside.string());
}

void Cache::DownloadChecked(OpenMlServer& server, const Description& description,
                            CacheRecord& record, const CacheFetchOptions& options,
                            fs::path& part) const {
  const std::string what = "data set " + std::to_string(record.id) + " (" + description.name + ")";
  // The part's name holds what it is a part of; another version or server starts anew.
  part = root_ / "partial" /
         (std::to_string(record.id) + "-" +
          Sha256(server.FileUrl(description.url) + description.md5).substr(0, 16) + ".part");
  fs::create_directories(part.parent_path());
  for (bool again = fs::exists(part);; again = false) {
    server.Download(description.url, part, options.max_bytes, options.progress);
    const TextHashes hashes = HashText(part);
    const bool matches = description.md5.empty() || hashes.md5 == description.md5 ||
                         hashes.raw_md5 == description.md5;
    if (hashes.damage.empty() && matches && !LooksLikeHtml(hashes.head)) {
      record.md5 = hashes.md5;
      record.sha256 = hashes.sha256;
      record.text_bytes = hashes.bytes;
      return;
    }
    if (again) {
      // Pieces of two different files, perhaps: once more from the start.
      fs::remove(part);
      continue;
    }
    std::string why = what + ": ";
    if (LooksLikeHtml(hashes.head))
      why += "the server sent an HTML page instead of data";
    else if (!hashes.damage.empty())
      why += hashes.damage;
    else
      why += "wrong MD5: expected " + description.md5 + ", got " + hashes.md5;
    Reject(part, record.id, why);
  }
}

namespace {

// What the server says of a data set, as sent and as parsed.
struct Described {
  std::string description_body, features_body;
  Description description;
  std::vector<Feature> features;
};

// @throws FetchError where the answers are not of this data set or it is no ARFF
Described Describe(OpenMlServer& server, int id) {
  const std::string name = "data set " + std::to_string(id);
  Described d{server.DescriptionBody(id), server.FeaturesBody(id), {}, {}};
  try {
    d.description = ParseDescription(d.description_body);
    d.features = ParseFeatures(d.features_body);
  } catch (const ShapeError& error) {
    throw FetchError(FetchError::Kind::kDamaged, name + ": " + error.what());
  }
  if (d.description.id != id) {
    throw FetchError(FetchError::Kind::kDamaged,
                     "asked for " + name + ", got " + std::to_string(d.description.id));
  }
  const std::string& format = d.description.format;
  if (format != "arff" && format != "sparse_arff") {
    throw FetchError(FetchError::Kind::kDamaged,
                     name + " has format \"" + format + "\"; ARFF is needed");
  }
  return d;
}

}  // namespace

CacheRecord Cache::Fetch(OpenMlServer& server, int id, const CacheFetchOptions& options) {
  const FileLock lock(root_ / "locks" / (std::to_string(id) + ".lock"));
  if (!options.refresh) {
    // Another process may have brought it while we waited.
    if (auto record = Find(id)) return *record;
  }
  const Described described = Describe(server, id);
  const Description& description = described.description;

  CacheRecord record;
  record.id = id;
  record.name = description.name;
  record.version = description.version;
  record.licence = description.licence;
  record.source = server.shown_base();
  record.fetched = Now();
  record.file = SafePath(description.url);
  fs::path part;
  DownloadChecked(server, description, record, options, part);

  const RegistryEntry* entry = DataRegistry::BuiltIn().FindOpenMl(id);
  if (entry != nullptr && !entry->sha256.empty() && entry->md5 == record.md5) {
    if (entry->sha256 != record.sha256) {
      Reject(part, id,
             "data set " + std::to_string(id) + ": wrong SHA-256: pinned " + entry->sha256 +
                 ", got " + record.sha256);
    }
    record.pinned = "pinned";
  }

  // Parsed before anything of it is in place: a file which is no ARFF never gets a record.
  ArffOptions arff;
  arff.file = record.file;
  arff.roles = [&](const std::vector<ColumnInfo>& columns) {
    record.attributes = static_cast<std::int64_t>(columns.size());
    return RolesOf(columns, description, described.features);
  };
  Frame frame;
  try {
    ArffParser parser(arff);
    ReadText(part, [&parser](std::string_view piece) { parser.Feed(piece); });
    frame = parser.Finish();
  } catch (const ParseError& error) {
    Reject(part, id, error.what());
  }
  record.rows = frame.rows;
  record.columns = static_cast<std::int64_t>(frame.columns.size());
  record.complete = entry == nullptr || frame.rows >= entry->rows;

  Label(frame, record);
  WriteFrameFile(frame, FramePath(record));
  Store(part, FilePath(record));
  record.stored_bytes = static_cast<std::int64_t>(fs::file_size(FilePath(record)));
  WriteAtomically(ApiPath(id, false), described.description_body);
  WriteAtomically(ApiPath(id, true), described.features_body);
  WriteAtomically(RecordPath(id), ToJson(record).dump(1));
  return record;
}

Frame Cache::Parse(const CacheRecord& record) const {
  const Description description = ParseDescription(ReadWhole(ApiPath(record.id, false)));
  const std::vector<Feature> features = ParseFeatures(ReadWhole(ApiPath(record.id, true)));
  ArffOptions arff;
  arff.file = FilePath(record).string();
  arff.roles = [&](const std::vector<ColumnInfo>& columns) {
    return RolesOf(columns, description, features);
  };
  ArffParser parser(arff);
  Digest sha256(Digest::Kind::kSha256);
  const auto changed = [&] {
    return std::runtime_error(arff.file + " has changed: " + DamageOf(record));
  };
  Frame frame;
  try {
    ReadText(FilePath(record), [&](std::string_view piece) {
      sha256.Update(piece);
      parser.Feed(piece);
    });
    frame = parser.Finish();
  } catch (const std::exception&) {
    // What has changed may end the reading before its hash is known.
    if (!DamageOf(record).empty()) throw changed();
    throw;
  }
  if (sha256.Hex() != record.sha256) throw changed();
  Label(frame, record);
  return frame;
}

Frame Cache::Load(const CacheRecord& record) const {
  try {
    Frame frame = ReadFrameFile(FramePath(record));
    if (frame.sha256 == record.sha256 && frame.rows == record.rows) return frame;
  } catch (const FrameFileError&) {
    // Missing or damaged: made again below.
  }
  Frame frame = Parse(record);
  try {
    WriteFrameFile(frame, FramePath(record));
  } catch (const std::runtime_error&) {
    // A cache that cannot be written is slower, not wrong.
  }
  return frame;
}

namespace {

//! Equal values; all that are missing are equal.
template <class T>
bool SameValues(std::span<const T> a, std::span<const T> b) {
  return std::ranges::equal(a, b, [](T x, T y) { return x == y || (x != x && y != y); });
}

bool SameColumn(const Column& a, const Column& b) {
  return a.name == b.name && a.kind == b.kind && a.levels == b.levels && a.missing == b.missing &&
         SameValues(a.values, b.values) && SameValues(a.codes8, b.codes8) &&
         SameValues(a.codes16, b.codes16) && SameValues(a.wide, b.wide);
}

}  // namespace

std::string Cache::DamageOf(const CacheRecord& record) const {
  const TextHashes hashes = HashText(FilePath(record));
  if (hashes.damage.empty() && hashes.sha256 == record.sha256) return "";
  return (hashes.damage.empty() ? "SHA-256 expected " + record.sha256 + ", got " + hashes.sha256
                                : hashes.damage) +
         "; fetch it again with --refresh";
}

VerifyResult Cache::Verify(const CacheRecord& record) const {
  VerifyResult result;
  try {
    result.why = DamageOf(record);
    if (result.why.empty()) {
      const Frame frame = Load(record);
      const Frame parsed = Parse(record);
      result.ok = std::ranges::equal(frame.columns, parsed.columns, SameColumn) &&
                  frame.target.has_value() == parsed.target.has_value() &&
                  (!frame.target || SameColumn(*frame.target, *parsed.target));
      if (!result.ok) {
        result.why =
            "the frame file differs from the ARFF file and its description; fetch it again with "
            "--refresh";
      }
    }
  } catch (const std::exception& error) {
    result.why = error.what();
  }
  return result;
}

void Cache::Mirror(const std::vector<CacheRecord>& records, const fs::path& target) const {
  const auto copy = [&](const fs::path& relative) {
    fs::create_directories((target / relative).parent_path());
    const fs::path temporary = (target / relative).string() + ".tmp";
    fs::copy_file(root_ / "openml" / relative, temporary, fs::copy_options::overwrite_existing);
    fs::rename(temporary, target / relative);
  };
  std::map<int, std::string> lines;  // those of earlier calls stay
  std::ifstream earlier(target / "MANIFEST.tsv");
  for (std::string line; std::getline(earlier, line);) {
    int id = 0;
    std::from_chars(line.data(), line.data() + line.size(), id);
    if (id > 0) lines[id] = line;
  }
  for (const CacheRecord& r : records) {
    if (const std::string why = DamageOf(r); !why.empty()) {
      throw std::runtime_error("data set " + std::to_string(r.id) + ": " + why +
                               "; nothing was mirrored");
    }
  }
  for (const CacheRecord& r : records) {
    const std::string id = std::to_string(r.id);
    copy(fs::path("api/v1/json/data") / id);
    copy(fs::path("api/v1/json/data/features") / id);
    copy(r.file);
    lines[r.id] =
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", r.id, r.name, r.rows, r.attributes,
                    r.text_bytes, r.md5, r.sha256, r.complete ? "complete" : "subset", r.source);
  }
  std::string manifest = "id\tname\trows\tattributes\ttext_bytes\tmd5\tsha256\tcoverage\tsource\n";
  for (const auto& [id, line] : lines) manifest += line + '\n';
  WriteAtomically(target / "MANIFEST.tsv", manifest);
}

}  // namespace retable::datasets
