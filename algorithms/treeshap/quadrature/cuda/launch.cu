#include "algorithms/treeshap/quadrature/cuda/launch.hpp"

#include <algorithm>

#include "algorithms/treeshap/quadrature/cuda/choices.hpp"
#include "base/cuda/memory.hpp"

namespace retable::treeshap {

std::size_t QuadratureSharedBytes(int points, const QuadratureLaunch& launch) {
  const std::size_t vectors = static_cast<std::size_t>(points * kRowsPerLane + 3) / 4;
  const std::size_t stack =
      launch.sizes.shared_slots * vectors * launch.sizes.threads * sizeof(Float4);
  const std::size_t column = std::size_t{launch.sizes.columns} * launch.sizes.threads *
                             std::size_t{kRowsPerLane} * sizeof(float);
  const std::size_t columns = launch.variant.layout == AccumulatorLayout::kPerFeature ? 2 : 1;
  return 2 * tape::kChunk * sizeof(Float4) + stack + columns * column;
}

void LaunchQuadrature(int points, const QuadratureLaunch& launch, cudaStream_t stream) {
  ForPoints<2, 3, 4, 6, 8>(points, [&]<int Q>() { LaunchQuadraturePoints<Q>(launch, stream); });
}

std::size_t SubtreeSharedBytes(int points, const SubtreeLaunch& launch) {
  const auto rows = static_cast<std::size_t>(ClassesPerLane(points));
  const std::size_t vectors = (static_cast<std::size_t>(points) * rows + 3) / 4;
  const std::size_t warp = launch.sizes.stack_slots * vectors * 32 * sizeof(Float4) +
                           launch.sizes.features * SubtreeColumnBytes(points);
  return launch.teams * (2 * launch.sizes.words * sizeof(Float4) + launch.team_warps * warp);
}

void ChooseTeams(int points, SubtreeLaunch& launch) {
  const std::size_t limit = SharedMemoryLimit();
  SubtreeLaunch tried = launch;
  launch.teams = launch.team_warps = 1;
  std::size_t most = 0;
  for (tried.teams = kTeams; most == 0 && tried.teams > 0; tried.teams /= 2) {
    for (tried.team_warps = kMaxTeamWarps; tried.team_warps > 0; --tried.team_warps) {
      const std::size_t bytes = SubtreeSharedBytes(points, tried) + 2 * kReservedShared;
      const std::uint32_t warps = tried.teams * tried.team_warps;
      const std::size_t resident =
          std::min<std::size_t>(limit / bytes, kTeams * kMaxTeamWarps / warps) * warps;
      if (resident > most) {
        most = resident;
        launch.teams = tried.teams;
        launch.team_warps = tried.team_warps;
      }
    }
  }
}

void LaunchSubtrees(int points, const SubtreeLaunch& launch, cudaStream_t stream) {
  ForPoints<4, 6, 8>(points, [&]<int Q>() { LaunchSubtreesPoints<Q>(launch, stream); });
}

void ChooseSharedMemory(int points, int stack_slots, QuadratureLaunch& launch) {
  const auto all = static_cast<std::uint32_t>(stack_slots);
  const auto blocks = static_cast<std::size_t>(ResidentBlocks(points));
  const std::size_t budget =
      (SharedMemoryLimit() / blocks - kReservedShared) * launch.sizes.threads / 128;
  while (launch.sizes.shared_slots < all) {
    QuadratureLaunch more = launch;
    ++more.sizes.shared_slots;
    if (QuadratureSharedBytes(points, more) > budget) break;
    launch = more;
  }
  if (all > kLocalSlots)
    launch.sizes.shared_slots = std::max(launch.sizes.shared_slots, all - kLocalSlots);
  while (launch.sizes.threads > 32 && QuadratureSharedBytes(points, launch) > SharedMemoryLimit()) {
    launch.sizes.threads /= 2;
  }
}

}  // namespace retable::treeshap
