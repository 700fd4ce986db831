#include "base/cuda/cards.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace retable {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * 1024;

constexpr CardLimits kCards[] = {
    {"t4", 75, 40, 1024, 64 * kKiB, 64 * kKiB, 4 * kMiB},
    {"a100", 80, 108, 2048, 163 * kKiB, 164 * kKiB, 40 * kMiB},
    {"rtx3060", 86, 28, 1536, 99 * kKiB, 100 * kKiB, 3 * kMiB},
    {"orin", 87, 16, 1536, 163 * kKiB, 164 * kKiB, 4 * kMiB},
    {"rtx4090", 89, 128, 1536, 99 * kKiB, 100 * kKiB, 72 * kMiB},
    {"h100", 90, 132, 2048, 227 * kKiB, 228 * kKiB, 50 * kMiB},
    {"b200", 100, 148, 2048, 227 * kKiB, 228 * kKiB, 126 * kMiB},
    {"rtx5090", 120, 170, 1536, 99 * kKiB, 100 * kKiB, 96 * kMiB},
};

}  // namespace

std::span<const CardLimits> PublishedCards() {
  return kCards;
}

const CardLimits* EmulatedCard() {
  const char* given = std::getenv("RETABLE_EMULATE_DEVICE");
  if (given == nullptr || *given == '\0') return nullptr;
  std::string names;
  for (const CardLimits& card : kCards) {
    if (card.name == given) return &card;
    names += (names.empty() ? "" : ", ") + std::string(card.name);
  }
  throw std::invalid_argument("RETABLE_EMULATE_DEVICE=" + std::string(given) +
                              ": there is no such card; " + names);
}

}  // namespace retable
