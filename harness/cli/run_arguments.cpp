#include "harness/cli/run_arguments.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "harness/config/toml_tree.hpp"

namespace retable::harness {
namespace {

struct ShardVariables {
  const char* index;
  const char* count;
};

// What schedulers tell their processes. Numbers start at 0, but for those of a Slurm array, which
// may start anywhere.
constexpr ShardVariables kShardVariables[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "PMIX_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};

int IntegerFrom(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return fallback;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0') {
    throw ConfigError({"--shard auto", 0, 0},
                      fmt::format("{} is \"{}\", not a number", variable, text));
  }
  return static_cast<int>(value);
}

Shard ShardOfEnvironment() {
  for (const ShardVariables& names : kShardVariables) {
    if (std::getenv(names.index) == nullptr || std::getenv(names.count) == nullptr) continue;
    const int first = std::string(names.index) == "SLURM_ARRAY_TASK_ID"
                          ? IntegerFrom("SLURM_ARRAY_TASK_MIN", 0)
                          : 0;
    const Shard shard{IntegerFrom(names.index, 0) - first + 1, IntegerFrom(names.count, 0)};
    if (shard.count >= 1 && shard.index >= 1 && shard.index <= shard.count) return shard;
    throw ConfigError(
        {"--shard auto", 0, 0},
        fmt::format("{} = {} and {} = {} name no part (arrays with gaps: give i/n)", names.index,
                    std::getenv(names.index), names.count, std::getenv(names.count)));
  }
  throw ConfigError({"--shard auto", 0, 0},
                    "neither Slurm nor MPI started this process; give i/n, such as 2/4");
}

}  // namespace

Shard ParseShard(const std::string& text) {
  if (text.empty()) return {};
  if (text == "auto") return ShardOfEnvironment();
  Shard shard;
  char slash = 0;
  std::istringstream stream(text);
  if (!(stream >> shard.index >> slash >> shard.count) || slash != '/' || shard.count < 1 ||
      shard.index < 1 || shard.index > shard.count || stream.peek() != EOF) {
    throw ConfigError({"--shard " + text, 0, 0},
                      "expected i/n with 1 <= i <= n, such as 2/4, or auto");
  }
  return shard;
}

double ParseDuration(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end ? end : "";
  const double scale = unit == "s" || unit.empty() ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  constexpr double kMost = 1e9;  // seconds, thirty years
  if (end == text.c_str() || scale == 0 || !(number > 0) || number * scale > kMost) {
    throw ConfigError({option + " " + text, 0, 0}, "expected a time such as 90s, 10m or 1.5h");
  }
  return number * scale;
}

}  // namespace retable::harness
