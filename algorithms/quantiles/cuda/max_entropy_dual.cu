#include <cuda_runtime.h>

#include <memory>

#include "algorithms/quantiles/cuda/max_entropy_dual.hpp"
#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/estimators/max_entropy/dual_newton.hpp"
#include "algorithms/quantiles/estimators/max_entropy/quadrature.hpp"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {
namespace {

constexpr int kTeams = kDualThreads / 32;

struct Nodes {
  double node[kNodes];
  double weight[kNodes];
};

//! A team of one warp: each item is one node per lane.
class WarpTeam {
 public:
  using Value = double;
  static constexpr int kWidth = 1;
  static constexpr int kLanes = 32;
  static constexpr int kItems = kMaxLatticePoints / kLanes;

  __device__ WarpTeam(const DualProblem& problem, const Nodes& nodes)
      : nodes_(nodes), points_(problem.points), first_(problem.first), step_(problem.step) {}
  RETABLE_TEAM int lane() const { return static_cast<int>(threadIdx.x) % 32; }
  RETABLE_TEAM void Sync() const { __syncwarp(); }
  RETABLE_TEAM double Fill(double x) const { return x; }
  RETABLE_TEAM double Exp(double x) const { return exp(x); }
  RETABLE_TEAM double Sum(double x) const { return SumLanes(x); }
  RETABLE_TEAM double Max(double x) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const double other = __shfl_xor_sync(kFull, x, step);
      x = other > x ? other : x;
    }
    return x;
  }
  //! Sums of 32 slots over the lanes.
  template <int kCount>
  RETABLE_TEAM void SumAll(double (&sums)[kCount], double* out, double factor) const {
    static_assert(kCount == 32);
    const double sum = SumSlots(sums);
    Sync();
    out[lane()] = sum * factor;
    Sync();
  }
  RETABLE_TEAM double Node(int item) const {
    const int i = item * 32 + lane();
    return points_ == 0 ? nodes_.node[i] : first_ + step_ * (i < points_ ? i : 0);
  }
  RETABLE_TEAM double Weight(int item) const {
    const int i = item * 32 + lane();
    return points_ == 0 ? nodes_.weight[i] : i < points_ ? 1.0 : 0.0;
  }

 private:
  const Nodes& nodes_;
  int points_;
  double first_;
  double step_;
};

__global__ void __launch_bounds__(kDualThreads)
    DualKernel(const DualProblem* problems, int count, const Nodes* nodes, int* next,
               DualAnswer* answers) {
  __shared__ DualShared<kMaxOrder> shared[kTeams];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (;;) {
    int mine = 0;
    if (threadIdx.x % 32 == 0) mine = atomicAdd(next, 1);
    mine = __shfl_sync(kFull, mine, 0);
    if (mine >= count) return;
    const DualProblem& problem = problems[mine];
    WarpTeam team(problem, *nodes);
    DualNewton<kMaxOrder, WarpTeam> newton(team, shared[warp],
                                           problem.points == 0 ? kNodes : problem.points);
    newton.Solve(&problem.mu[0], problem.order, answers[mine]);
    __syncwarp();
  }
}

//! Keeps its device memory between calls.
class DualCuda {
 public:
  DualCuda() : blocks_(kDualBlocksPerMultiprocessor * MultiprocessorCount()) {
    const Quadrature& rule = Quadrature::Get();
    Nodes nodes;
    for (std::size_t i = 0; i < kNodes; ++i) {
      nodes.node[i] = rule.node[i];
      nodes.weight[i] = rule.weight[i];
    }
    nodes_.Upload(std::span<const Nodes>(&nodes, 1));
  }

  std::vector<DualAnswer> Solve(std::span<const DualProblem> problems) {
    std::vector<DualAnswer> answers(problems.size());
    if (problems.empty()) return answers;
    problems_.Upload(problems);
    answers_.Zeros(problems.size());
    const int count = static_cast<int>(problems.size());
    const int useful = (count + kTeams - 1) / kTeams;
    const int blocks = useful < blocks_ ? useful : blocks_;
    DualKernel<<<blocks, kDualThreads>>>(problems_.data(), count, nodes_.data(), next_.Zeros(1),
                                         answers_.data());
    CheckCuda(cudaGetLastError(), "dual kernel");
    answers_.Download(answers);
    return answers;
  }

 private:
  int blocks_;
  DeviceArray<Nodes> nodes_;
  DeviceArray<int> next_{1};
  DeviceArray<DualProblem> problems_;
  DeviceArray<DualAnswer> answers_;
};

}  // namespace

DualSolver CudaDualSolver() {
  // std::function must be copyable.
  const auto solver = std::make_shared<DualCuda>();
  return [solver](std::span<const DualProblem> problems) { return solver->Solve(problems); };
}

}  // namespace retable::quantiles
