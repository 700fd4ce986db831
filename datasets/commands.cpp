#include "datasets/commands.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "base/atomic_file.hpp"
#include "base/files/output_paths.hpp"
#include "base/text/suggest.hpp"
#include "datasets/openml/cache.hpp"
#include "datasets/openml/fetch.hpp"
#include "datasets/registry/catalog.hpp"
#include "datasets/registry/registry_file.hpp"

namespace retable::datasets {
namespace {

constexpr int kOk = 0;
constexpr int kUsage = 1;
constexpr int kSomeFailed = 2;

//! A verb's arguments, split into names and switches.
struct Arguments {
  std::vector<std::string> names;
  std::set<std::string> switches;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Arguments Split(const std::vector<std::string>& args, const std::set<std::string>& allowed) {
  Arguments split;
  for (std::size_t i = 1; i < args.size(); ++i) {
    if (args[i].rfind("-", 0) != 0) {
      split.names.push_back(args[i]);
    } else if (allowed.count(args[i]) > 0) {
      split.switches.insert(args[i]);
    } else {
      throw UsageError("\"" + args[0] + "\" has no option " + args[i] +
                       NearestName(args[i], {allowed.begin(), allowed.end()}));
    }
  }
  return split;
}

std::string Bytes(std::int64_t bytes) {
  if (bytes < 10000) return fmt::format("{} B", bytes);
  const auto size = static_cast<double>(bytes);
  return size < 1e6 ? fmt::format("{:.0f} kB", size / 1e3) : fmt::format("{:.1f} MB", size / 1e6);
}

//! The OpenML ids that names stand for; embedded and generated ones need no fetching.
//! @throws UnknownDataset
std::vector<int> OpenMlIds(const std::vector<std::string>& names, std::ostream& err) {
  std::vector<int> ids;
  const auto add = [&ids](int id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const std::string& name : names) {
    int number = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data(), end, number).ptr == end && number > 0) {
      add(number);
      continue;
    }
    if (const Suite* suite = DataRegistry::BuiltIn().FindSuite(name)) {
      for (const int id : suite->members) add(id);
      continue;
    }
    for (const Member& member : Catalog().Resolve(name, FetchPolicy::kNone)) {
      if (member.openml > 0 && member.origin != "embedded")
        add(member.openml);
      else
        err << member.name << ": " << member.origin << ", no file to fetch\n";
    }
  }
  return ids;
}

// --- list ---------------------------------------------------------------------------------------

struct ListRow {
  std::string name, state, origin;
  std::int64_t rows, columns, bytes;
};

std::vector<ListRow> ListRows(const Cache& cache) {
  std::map<int, CacheRecord> here;
  for (CacheRecord& record : cache.List()) here.emplace(record.id, record);
  std::vector<ListRow> rows;
  const auto add_record = [&](const std::string& name, const CacheRecord& r) {
    rows.push_back({name, r.complete ? "complete" : "subset", "openml " + std::to_string(r.id),
                    r.rows, r.columns, r.stored_bytes});
  };
  for (const RegistryEntry& entry : DataRegistry::BuiltIn().entries()) {
    if (entry.openml == 0 || entry.embedded) {
      rows.push_back({entry.name, entry.embedded ? "embedded" : "generated",
                      entry.embedded ? "embedded" : "generator", entry.rows, entry.attributes - 1,
                      0});
    } else if (const auto found = here.find(entry.openml); found != here.end()) {
      add_record(entry.name, found->second);
      here.erase(found);
    } else {
      rows.push_back({entry.name, "absent", "openml " + std::to_string(entry.openml), entry.rows,
                      entry.attributes - 1, 0});
    }
  }
  for (const auto& [id, record] : here) add_record("openml-" + std::to_string(id), record);
  return rows;
}

int List(const Arguments& arguments, std::ostream& out) {
  if (!arguments.names.empty()) throw UsageError("list takes no names: it shows every data set");
  const Cache cache(Cache::DefaultRoot());
  const std::vector<ListRow> rows = ListRows(cache);
  if (arguments.switches.count("--json") > 0) {
    nlohmann::json list = nlohmann::json::array();
    for (const ListRow& r : rows) {
      list.push_back({{"name", r.name},
                      {"state", r.state},
                      {"origin", r.origin},
                      {"rows", r.rows},
                      {"columns", r.columns},
                      {"bytes", r.bytes}});
    }
    out << list.dump(1) << '\n';
    return kOk;
  }
  std::int64_t bytes = 0;
  std::size_t here = 0;
  static constexpr char kLine[] = "{:<42}{:<11}{:>9}{:>9}{:>11}  {}\n";
  out << fmt::format(kLine, "name", "state", "rows", "columns", "stored", "origin");
  for (const ListRow& r : rows) {
    out << fmt::format(kLine, r.name, r.state, r.rows, r.columns,
                       r.bytes > 0 ? Bytes(r.bytes) : "-", r.origin);
    bytes += r.bytes;
    here += r.state != "absent";
  }
  out << here << " of " << rows.size() << " data sets are here; the cache " << cache.root().string()
      << " holds " << Bytes(bytes) << '\n';
  return kOk;
}

// --- fetch --------------------------------------------------------------------------------------

//! A line that is written over on a terminal; nothing elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& err)
      : err_(err), shown_(&err == &std::cerr && isatty(2) != 0) {}

  void Show(std::size_t done, std::size_t all, int id, std::int64_t now, std::int64_t total) {
    const auto time = std::chrono::steady_clock::now();
    if (!shown_ || time - last_ < std::chrono::milliseconds(100)) return;
    last_ = time;
    constexpr int kWidth = 24;
    const int filled = total > 0 ? static_cast<int>(kWidth * now / total) : 0;
    const std::string line =
        fmt::format("{}/{}  {}  {}{}  [{:.<{}}]", done, all, OpenMlName(id), Bytes(now),
                    total > 0 ? " of " + Bytes(total) : "",
                    std::string(static_cast<std::size_t>(filled), '#'), kWidth);
    winsize size{};  // a line that is broken cannot be written over
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    err_ << "\r\033[K" << line.substr(0, known ? size.ws_col - std::size_t{1} : 79) << std::flush;
  }
  void Clear() {
    if (shown_) err_ << "\r\033[K" << std::flush;
  }

 private:
  std::ostream& err_;
  bool shown_;
  std::chrono::steady_clock::time_point last_;
};

void CheckWritable(const std::filesystem::path& cache) {
  std::error_code error;
  std::filesystem::create_directories(cache, error);
  if (!error && access(cache.c_str(), W_OK) != 0) error = {errno, std::generic_category()};
  if (error) {
    throw std::runtime_error("the cache " + cache.string() + " cannot be written (" +
                             error.message() + "); RETABLE_CACHE names another folder");
  }
}

int Fetch(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.names.empty()) throw UsageError("fetch needs a name, an OpenML id or a suite");
  OpenMlServer server(ServerOptions::FromEnvironment());
  Cache cache(Cache::DefaultRoot());
  CheckWritable(cache.root());
  const std::vector<int> ids = OpenMlIds(arguments.names, err);
  ProgressLine line(err);
  std::size_t done = 0;
  FetchManyOptions options;
  options.refresh = arguments.switches.count("--refresh") > 0;
  options.progress = [&](int id, std::int64_t now, std::int64_t all) {
    line.Show(done, ids.size(), id, now, all);
  };
  bool told_of_network = false;
  options.done = [&](const FetchOutcome& o) {
    ++done;
    line.Clear();
    if (!o.present && o.kind == FetchError::Kind::kNoNetwork) {
      // The same for every data set that is not here: said once.
      if (!told_of_network) {
        err << o.error << "; RETABLE_OPENML_URL may name a mirror (file:///folder, http://...)\n";
      }
      told_of_network = true;
      return;
    }
    if (!o.present) {
      out << OpenMlName(o.id) << ": "
          << (o.kind == FetchError::Kind::kNotFound ? "not found: " : "failed: ") << o.error
          << '\n';
      return;
    }
    out << OpenMlName(o.id) << ": " << (o.was_cached ? "in the cache, " : "fetched, ")
        << o.record.rows << " x " << o.record.columns << ", " << Bytes(o.record.stored_bytes)
        << (o.record.complete ? "" : ", a subset of the published rows") << '\n';
  };
  std::size_t fetched = 0, cached = 0, absent = 0, failed = 0;
  for (const FetchOutcome& o : FetchMany(cache, server, ids, options)) {
    fetched += o.present && !o.was_cached;
    cached += o.present && o.was_cached;
    absent += !o.present && o.kind == FetchError::Kind::kNotFound;
    failed += !o.present && o.kind != FetchError::Kind::kNotFound;
  }
  out << fetched << " fetched, " << cached << " in the cache, " << absent << " not found, "
      << failed << " failed\n";
  return absent + failed > 0 ? kSomeFailed : kOk;
}

// --- verify, path, mirror -----------------------------------------------------------------------

//! The records that names stand for, all without names; absent ones are told and counted.
std::vector<CacheRecord> Records(const Cache& cache, const std::vector<std::string>& names,
                                 std::ostream& err, std::size_t& absent) {
  if (names.empty()) return cache.List();
  std::vector<CacheRecord> records;
  for (const int id : OpenMlIds(names, err)) {
    if (auto record = cache.Find(id)) {
      records.push_back(std::move(*record));
    } else {
      err << OpenMlName(id) << ": not in the cache\n";
      ++absent;
    }
  }
  return records;
}

int Verify(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const Cache cache(Cache::DefaultRoot());
  std::size_t bad = 0;
  const auto records = Records(cache, arguments.names, err, bad);
  for (const CacheRecord& record : records) {
    const VerifyResult result = cache.Verify(record);
    out << OpenMlName(record.id) << ": " << (result.ok ? "ok" : result.why)
        << (result.ok && !record.pinned.empty() ? ", SHA-256 as pinned" : "") << '\n';
    bad += !result.ok;
  }
  out << records.size() << " checked, " << bad << " wrong or absent\n";
  return bad > 0 ? kSomeFailed : kOk;
}

int Path(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const Cache cache(Cache::DefaultRoot());
  if (arguments.names.empty()) {
    out << cache.root().string() << '\n';
    return kOk;
  }
  std::size_t absent = 0;
  const auto records = Records(cache, arguments.names, err, absent);
  for (const CacheRecord& record : records) out << cache.FilePath(record).string() << '\n';
  return absent > 0 || records.empty() ? kSomeFailed : kOk;
}

int Mirror(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.names.empty()) throw UsageError("mirror needs a folder to write to");
  const Cache cache(Cache::DefaultRoot());
  const std::filesystem::path target = arguments.names.front();
  CheckOutputFolder(target, {"MANIFEST.tsv"});
  KeepInputs(target, {cache.root(), cache.root() / "openml"});
  std::size_t absent = 0;
  const auto records =
      Records(cache, {arguments.names.begin() + 1, arguments.names.end()}, err, absent);
  cache.Mirror(records, target);
  out << records.size() << " data sets mirrored to " << target.string()
      << "; use it with RETABLE_OPENML_URL=file://"
      << std::filesystem::absolute(target).lexically_normal().string() << '\n';
  return absent > 0 ? kSomeFailed : kOk;
}

int Run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  const std::string verb = args.empty() ? "help" : args[0];
  const bool help = std::find(args.begin(), args.end(), "--help") != args.end() ||
                    std::find(args.begin(), args.end(), "-h") != args.end();
  if (help || verb == "help") {
    out << DatasetsHelp();
    return kOk;
  }
  if (verb == "list") return List(Split(args, {"--json"}), out);
  if (verb == "fetch") return Fetch(Split(args, {"--refresh"}), out, err);
  if (verb == "verify") return Verify(Split(args, {}), out, err);
  if (verb == "path") return Path(Split(args, {}), out, err);
  if (verb == "mirror") return Mirror(Split(args, {}), out, err);
  throw UsageError("unknown command \"" + verb + "\"" +
                   NearestName(verb, {"list", "fetch", "verify", "path", "mirror"}));
}

}  // namespace

bool MayAsk() {
  const char* server = std::getenv("RETABLE_OPENML_URL");
  return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0 && std::getenv("CI") == nullptr &&
         (server == nullptr || std::string_view(server) != "off");
}

bool OfferFetch(const std::vector<std::string>& names, int megabytes, std::istream& in,
                std::ostream& err) {
  const std::filesystem::path path = Cache::DefaultRoot() / "declined";
  std::set<std::string> declined;
  std::ifstream stored(path);
  for (std::string name; std::getline(stored, name);) declined.insert(name);
  const auto fresh = [&](const std::string& name) { return declined.count(name) == 0; };
  if (std::none_of(names.begin(), names.end(), fresh)) return false;
  err << "fetch " << megabytes << " MB now? [y/N] " << std::flush;
  std::string answer;
  std::getline(in, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") {
    std::vector<std::string> args = {"fetch"};
    args.insert(args.end(), names.begin(), names.end());
    std::ostringstream told;
    DatasetsMain(args, told, err);
    err << told.str();
    return true;
  }
  declined.insert(names.begin(), names.end());
  std::string text;
  for (const std::string& name : declined) text += name + "\n";
  WriteAtomically(path, text);
  return false;
}

std::string DatasetsHelp() {
  return R"(usage: retable datasets <command>

  list [--json]            every data set: complete, subset, absent, embedded or generated; bytes
  fetch NAME... [--refresh] bring data sets into the cache: names, OpenML ids, or the suite cc18
  verify [NAME...]         hash the stored files again and compare the parsed frames with them
  path [NAME...]           where the cache is, or where a data set's file is
  mirror DIR [NAME...]     write the cache (or these data sets) out as a mirror

Data come from the cache, then from RETABLE_OPENML_URL (http://, https:// or file:///; default
https://www.openml.org; "off" forbids the network). The cache is RETABLE_CACHE, else
$XDG_CACHE_HOME/retable, else ~/.cache/retable.
Exit: 0 done; 1 wrong usage; 2 some data set failed or is not to be had.
)";
}

int DatasetsMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  try {
    return Run(args, out, err);
  } catch (const UsageError& error) {
    err << error.what() << "\n\n" << DatasetsHelp();
    return kUsage;
  } catch (const std::invalid_argument& error) {
    err << error.what() << '\n';
    return kUsage;
  } catch (const std::bad_alloc&) {
    throw;  // the program says what can be done
  } catch (const std::exception& error) {
    err << error.what() << '\n';
    return kSomeFailed;
  }
}

}  // namespace retable::datasets
