#include "experiments/shuffle/peers/external_shuffler.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "experiments/common/external_method.hpp"

namespace retable::experiments {
namespace {

RETABLE_REGISTER(shuffle::Shuffler, external,
                 (ExternalMethod<shuffle::Shuffler>([](const std::string& command,
                                                       const Parameters&) {
                   return std::make_unique<ExternalShuffler>(command);
                 })));

}  // namespace

void ExternalShuffler::Load(std::span<const std::byte> items, std::size_t item_bytes,
                            std::uint64_t seed) {
  const std::uint64_t n = items.size() / item_bytes;
  program_.Load({{"task", "shuffle"}, {"seed", seed}},
                {{"items", "uint8", {n, item_bytes}, items}});
}

void ExternalShuffler::Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                           std::uint64_t seed) {
  const std::size_t bytes = n * item_bytes;
  Load({static_cast<const std::byte*>(in), bytes}, item_bytes, seed);
  program_.Run();
  const auto arrays = program_.Answer({});
  if (arrays.size() != 1 || arrays[0].bytes.size() != bytes) {
    throw std::runtime_error("the answer to \"shuffle\" is one array, as large as the items");
  }
  std::memcpy(out, arrays[0].bytes.data(), bytes);
}

}  // namespace retable::experiments
