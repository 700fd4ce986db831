#include "experiments/shapley/games/model_cache.hpp"

#include <exception>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "datasets/openml/cache.hpp"

namespace retable::experiments {
namespace {

// The kept value, or null: a file that is absent, of other sources, or damaged.
nlohmann::json Read(const std::filesystem::path& path, const std::string& sources) {
  try {
    const auto file = nlohmann::json::from_cbor(ReadWhole(path));
    if (file.at("sources") == sources) return file.at("model");
  } catch (const std::exception&) {
  }
  return nullptr;
}

}  // namespace

nlohmann::json KeptModel(const nlohmann::json& identity, const std::string& sources,
                         const std::function<nlohmann::json()>& make) {
  const auto folder = datasets::Cache::DefaultRoot() / "models";
  const auto path = folder / (Sha256(identity.dump()).substr(0, 32) + ".cbor");
  if (auto kept = Read(path, sources); !kept.is_null()) return kept;
  const FileLock lock(path.string() + ".lock");
  if (auto kept = Read(path, sources); !kept.is_null()) return kept;  // another process was first
  auto model = make();
  try {
    const auto bytes = nlohmann::json::to_cbor({{"sources", sources}, {"model", model}});
    WriteAtomically(path,
                    std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  } catch (const std::exception&) {
  }
  return model;
}

}  // namespace retable::experiments
