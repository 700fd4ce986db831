#include "datasets/registry/catalog.hpp"

#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "base/text/suggest.hpp"
#include "datasets/generators/generators.hpp"
#include "datasets/openml/cache.hpp"
#include "datasets/openml/fetch.hpp"
#include "datasets/registry/embedded.hpp"
#include "datasets/registry/registry_file.hpp"

namespace retable::datasets {
namespace {

//! "openml-61" -> 61; 0 when it is something else.
int OpenMlId(const std::string& name) {
  const std::string folded = FoldName(name);
  const std::string prefix = "openml-";
  if (folded.rfind(prefix, 0) != 0) return 0;
  int id = 0;
  const char* end = folded.data() + folded.size();
  const auto [stop, error] = std::from_chars(folded.data() + prefix.size(), end, id);
  return error == std::errc() && stop == end && id > 0 ? id : 0;
}

Member EmbeddedMember(const RegistryEntry& entry) {
  return {.name = entry.name,
          .sha256 = EmbeddedSha256(entry.name),
          .present = true,
          .rows = entry.rows,
          .columns = entry.attributes - 1,
          .origin = "embedded",
          .openml = entry.openml};
}

Member GeneratorMember(const std::string& text) {
  const GeneratorSpec spec = ParseGenerator(text);
  const auto number = [&](const char* name) {
    return static_cast<std::int64_t>(spec.values.at(name));
  };
  return {.name = spec.display_name(),
          .sha256 = spec.sha256(),
          .present = true,
          .rows = spec.is_table() ? number("n_samples") : 0,
          .columns = spec.is_table() ? number("n_features") : 1,
          .synthetic = true,
          .origin = "generator"};
}

//! What is known of an OpenML data set before it is here.
Member KnownMember(int id) {
  const RegistryEntry* entry = DataRegistry::BuiltIn().FindOpenMl(id);
  return {.name = OpenMlName(id),
          .rows = entry != nullptr ? entry->rows : 0,
          .columns = entry != nullptr ? entry->attributes - 1 : 0,
          .origin = "openml " + std::to_string(id),
          .openml = id};
}

void FillFromRecord(Member& member, const CacheRecord& record) {
  member.sha256 = record.sha256;
  member.present = true;
  member.rows = record.rows;
  member.columns = record.columns;
  member.complete = record.complete;
}

//! By server and data set: a plan which names a data set often asks for it once.
KnownFailures failures;

//! At plan time somebody waits.
ServerOptions ImpatientServer() {
  ServerOptions server = ServerOptions::FromEnvironment();
  server.connect_timeout = 3;
  server.stall_timeout = 5;
  server.retries = 1;
  server.back_off = 0.2;
  return server;
}

//! Fetches those of `ids` that come cheaply (FetchPolicy::kIfCheap); says why the others did not.
std::map<int, std::string> FetchCheap(Cache& cache, const std::vector<int>& ids) {
  std::map<int, std::string> reasons;
  OpenMlServer server(ImpatientServer());
  const auto key = [&](int id) { return server.base() + " " + std::to_string(id); };
  std::vector<int> wanted;
  for (const int id : ids) {
    const std::string why = server.is_file() ? "" : failures.Why(key(id));
    if (why.empty())
      wanted.push_back(id);
    else
      reasons[id] = why;
  }
  FetchManyOptions many;
  many.max_bytes = server.is_file() ? 0 : 4 << 20;
  for (const FetchOutcome& outcome : FetchMany(cache, server, wanted, many)) {
    if (outcome.present) continue;
    reasons[outcome.id] = outcome.error;
    failures.Add(key(outcome.id), outcome.error);
  }
  return reasons;
}

std::vector<Member> OpenMlMembers(const std::vector<int>& ids, FetchPolicy policy) {
  Cache cache(Cache::DefaultRoot());
  std::vector<Member> members;
  std::vector<int> missing;
  for (const int id : ids) {
    const RegistryEntry* entry = DataRegistry::BuiltIn().FindOpenMl(id);
    if (entry != nullptr && entry->embedded) {
      members.push_back(EmbeddedMember(*entry));
      continue;
    }
    members.push_back(KnownMember(id));
    if (const auto record = cache.Find(id))
      FillFromRecord(members.back(), *record);
    else
      missing.push_back(id);
  }
  if (missing.empty()) return members;
  std::map<int, std::string> reasons;
  if (policy == FetchPolicy::kIfCheap) reasons = FetchCheap(cache, missing);
  for (Member& member : members) {
    if (member.present) continue;
    const auto record = cache.Find(member.openml);
    const auto reason = reasons.find(member.openml);
    if (record)
      FillFromRecord(member, *record);
    else
      member.reason = reason != reasons.end() ? reason->second : "not in the cache";
    if (member.present) continue;
    const RegistryEntry* entry = DataRegistry::BuiltIn().FindOpenMl(member.openml);
    member.fetch = member.name;
    member.megabytes = entry != nullptr ? entry->megabytes : 0;
  }
  return members;
}

}  // namespace

UnknownDataset::UnknownDataset(std::string name_in, std::vector<std::string> candidates_in)
    : std::invalid_argument("unknown data set \"" + name_in + "\"" +
                            NearestName(name_in, candidates_in)),
      name(std::move(name_in)),
      candidates(std::move(candidates_in)) {}

std::vector<std::string> Catalog::Names() const {
  std::vector<std::string> names = {"embedded"};
  for (const Suite& suite : DataRegistry::BuiltIn().suites()) names.push_back(suite.name);
  for (const RegistryEntry& entry : DataRegistry::BuiltIn().entries()) {
    if (entry.generator.empty()) names.push_back(entry.name);
  }
  for (const std::string& name : GeneratorNames()) names.push_back(name);
  return names;
}

std::vector<Member> Catalog::Resolve(const std::string& name, FetchPolicy policy) const {
  std::vector<Member> members;
  if (FoldName(name) == "embedded") {
    for (const std::string& embedded : EmbeddedNames()) {
      members.push_back(EmbeddedMember(*DataRegistry::BuiltIn().Find(embedded)));
    }
    return members;
  }
  if (const Suite* suite = DataRegistry::BuiltIn().FindSuite(name)) {
    std::vector<Member> all = OpenMlMembers(suite->members, policy);
    for (Member& member : all) {
      if (!member.present)
        std::tie(member.fetch, member.megabytes) = std::tie(suite->name, suite->megabytes);
    }
    return all;
  }
  if (const RegistryEntry* entry = DataRegistry::BuiltIn().Find(name)) {
    if (entry->embedded) return {EmbeddedMember(*entry)};
    if (!entry->generator.empty()) return {GeneratorMember(entry->generator)};
    return OpenMlMembers({entry->openml}, policy);
  }
  if (IsGenerator(name)) return {GeneratorMember(name)};
  if (const int id = OpenMlId(name)) return OpenMlMembers({id}, policy);
  throw UnknownDataset(name, Names());
}

Frame Catalog::Load(const Member& member, const LoadOptions& options) const {
  if (member.synthetic) {
    const GeneratorSpec spec = ParseGenerator(member.name);
    const std::int64_t rows = options.rows != 0 || spec.is_table() ? options.rows : 1000;
    return GenerateFrame(spec, options.seed, rows);
  }
  if (member.origin == "embedded") return LoadEmbedded(member.name);
  if (member.openml > 0) {
    const Cache cache(Cache::DefaultRoot());
    if (const auto record = cache.Find(member.openml)) return cache.Load(*record);
  }
  throw std::runtime_error(member.name + " is not here" +
                           (member.reason.empty() ? "" : ": " + member.reason) +
                           "; fetch it with: build/retable datasets fetch " + member.name);
}

Frame Catalog::Load(const std::string& name, const LoadOptions& options) const {
  const std::vector<Member> members = Resolve(name, FetchPolicy::kNone);
  if (members.size() != 1) throw std::invalid_argument("\"" + name + "\" is a group of data sets");
  return Load(members.front(), options);
}

}  // namespace retable::datasets
