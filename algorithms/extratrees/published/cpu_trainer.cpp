#include <algorithm>
#include <chrono>

#include "algorithms/extratrees/published/growth.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees::published {
namespace {

class HostClock {
 public:
  void Begin() { last_ = std::chrono::steady_clock::now(); }
  void Mark(const char* name) {
    const auto now = std::chrono::steady_clock::now();
    AddTo(parts, name, std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }
  void End() {}
  std::vector<PartTime> parts;

 private:
  std::chrono::steady_clock::time_point last_;
};

template <class T>
using HostArray = std::vector<T>;

class Host {
 public:
  Host(const FeatureMatrix& data, std::span<const std::uint32_t> labels, const View& sizes)
      : view(sizes) {
    const auto take = [](auto& array, std::size_t count) {
      array.resize(count);
      return array.data();
    };
    Reserve(memory_, take, view);
    memory_.columns = Transposed(data);
    view.data = {data.values, memory_.columns.data(), labels.data()};
  }

  template <auto kFunction, Each kEach, class... Position>
  void Run(Rule<kFunction, kEach>, Position... position) {
    ParallelFor(view.shape.trees, [&](std::size_t t) {
      const auto tree = static_cast<std::uint32_t>(t);
      if constexpr (kEach == Each::kTree) {
        kFunction(view, tree, position...);
      } else {
        for (std::uint32_t i = 0; i < CountOf(kEach, view.shape); ++i) {
          kFunction(view, tree, i, position...);
        }
      }
    });
  }

  std::int32_t Longest() const {
    return *std::max_element(view.progress.length, view.progress.length + view.shape.trees);
  }

  void GrowCapacity() {
    const std::uint32_t bigger = 2 * view.capacity;
    std::vector<Cell> nodes(std::size_t{view.shape.trees} * bigger * kFields);
    for (std::size_t t = 0; t < view.shape.trees; ++t) {
      std::copy_n(view.nodes + t * view.capacity * kFields, std::size_t{view.capacity} * kFields,
                  nodes.data() + t * bigger * kFields);
    }
    memory_.nodes.swap(nodes);
    view.nodes = memory_.nodes.data();
    view.capacity = bigger;
  }

  View view;
  HostClock clock;

 private:
  Memory<HostArray> memory_;
};

}  // namespace

std::unique_ptr<FittedForest> PublishedCpu::fit(const FeatureMatrix& data, const Targets& targets,
                                                const ForestOptions& options) {
  const View sizes = CheckPublished(data, targets, options, settings_.sampling);
  std::unique_ptr<FittedForest> fitted;
  WithThreads(threads_, [&] {
    Host host(data, targets.labels, sizes);
    GrowTrees(host, settings_.max_steps);
    fitted = Fitted(host.view, std::move(host.clock.parts));
  });
  return fitted;
}

RETABLE_REGISTER(ForestTrainer, report,
                 {.name = "report",
                  .summary = "Phang and Tanna's algorithm: one node of every tree a step",
                  .citation = "Phang, Tanna, section IV",
                  .parameters = {{"sampling", std::string("uniform"), "uniform, binomial, normal"},
                                 {"max_steps", std::int64_t{0}, "stop after so many; 0: never"},
                                 {"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<PublishedCpu>(
                        Settings{ParseSampling(TextParameter(p, "sampling", "uniform")),
                                 IntParameter(p, "max_steps", 0)},
                        IntParameter(p, "threads", 0));
                  }});

}  // namespace retable::extratrees::published
