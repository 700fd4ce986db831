#include "algorithms/treeshap/interventional/device_tables.cuh"

#include <algorithm>

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kPatternThreads = 256;  // two rows each
constexpr std::uint32_t kTableThreads = 128;
static_assert(DeviceColumns::kPaddedRows == 2 * kPatternThreads);
static_assert(kPatternRows % DeviceColumns::kPaddedRows == 0);
static_assert(kCountedRows % DeviceColumns::kPaddedRows == 0);

struct PatternLaunch {
  const Treelet* treelets;
  const PatternBit* bits;
  const std::uint32_t* sets;
  DeviceColumns rows;
};

// The patterns of two rows, one in each half.
__device__ __forceinline__ std::uint32_t TwoPatterns(const PatternLaunch& p, const Treelet& treelet,
                                                     std::uint32_t row) {
  std::uint32_t patterns = 0;
  for (std::uint32_t i = 0; i < treelet.bits; ++i) {
    const PatternBit bit = p.bits[treelet.first_bit + i];
    const std::size_t column = bit.feature & PatternBit::kFeature;
    const float2 x =
        __ldg(reinterpret_cast<const float2*>(p.rows.x + column * p.rows.stride + row));
    patterns |= static_cast<std::uint32_t>(HasBit(bit, p.sets, x.x)) << i;
    patterns |= static_cast<std::uint32_t>(HasBit(bit, p.sets, x.y)) << (16 + i);
  }
  return patterns;
}

// A block takes 512 rows and a few treelets.
__global__ void __launch_bounds__(kPatternThreads)
    FindPatternsKernel(PatternLaunch p, std::uint32_t treelets, std::uint32_t* patterns) {
  const std::uint32_t pair = blockIdx.x * kPatternThreads + threadIdx.x;
  const std::uint32_t first = blockIdx.y * kBlockTreelets;
  const std::uint32_t end = min(first + kBlockTreelets, treelets);
  for (std::uint32_t t = first; t < end; ++t) {
    patterns[t * std::size_t{kPatternRows / 2} + pair] = TwoPatterns(p, p.treelets[t], 2 * pair);
  }
}

// A block counts one treelet's patterns in its rows. Whole numbers: in any order.
__global__ void __launch_bounds__(kPatternThreads)
    CountPatternsKernel(PatternLaunch p, std::uint32_t chunks, std::uint32_t* counts) {
  extern __shared__ std::uint32_t bins[];
  const Treelet treelet = p.treelets[blockIdx.x / chunks];
  const std::uint32_t size = 1u << treelet.bits;
  for (std::uint32_t i = threadIdx.x; i < size; i += kPatternThreads) bins[i] = 0;
  __syncthreads();
  const std::uint32_t first = blockIdx.x % chunks * kCountedRows;
  const std::uint32_t end = min(first + kCountedRows, p.rows.rows);
  for (std::uint32_t row = first + 2 * threadIdx.x; row < end; row += 2 * kPatternThreads) {
    const std::uint32_t patterns = TwoPatterns(p, treelet, row);
    atomicAdd(bins + (patterns & 0xffffu), 1u);
    if (row + 1 < end) atomicAdd(bins + (patterns >> 16), 1u);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < size; i += kPatternThreads) {
    if (bins[i] != 0) atomicAdd(counts + treelet.counts + i, bins[i]);
  }
}

struct BlockTeam {
  static __device__ std::uint32_t index() { return threadIdx.x; }
  static __device__ std::uint32_t size() { return kTableThreads; }
  static __device__ void Sync() { __syncthreads(); }
  static __device__ void Add(std::uint32_t* to, std::uint32_t count) { atomicAdd(to, count); }
};

// Each block makes tables in turn. `weighted`: 2 x 2^most_bits for each block.
__global__ void __launch_bounds__(kTableThreads)
    MakeTablesKernel(const Treelet* treelets, std::uint32_t count, TreeletArrays from,
                     const __grid_constant__ ShapleyWeights weights, std::uint32_t most_bits,
                     double* weighted, double* table, std::uint32_t* reached) {
  extern __shared__ std::uint32_t sums[];
  const std::uint32_t size = 1u << most_bits;
  double* gain = weighted + blockIdx.x * (std::size_t{2} << most_bits);
  const TableScratch scratch{sums, sums + size, reinterpret_cast<std::uint16_t*>(sums + 2 * size),
                             gain, gain + size};
  for (std::uint32_t t = blockIdx.x; t < count; t += gridDim.x) {
    const Treelet treelet = treelets[t];
    TreeletArrays own = from;
    own.counts += treelet.counts;
    MakeTable(BlockTeam{}, treelet, own, weights, scratch, table + treelet.table, reached);
  }
}

struct SumLaunch {
  const std::uint32_t* patterns;
  const double* table;
  const uint2* columns;
  const std::uint32_t* begin;  // of the range's outputs and features
  double* out;                 // of the range's first output
  std::uint32_t rows, row_blocks;
  std::uint32_t features, groups;
  bool continues;
};

// A block sums one feature of one output for 512 rows, treelet after treelet: rows read a column
// side by side, and its patterns from few lines of the cache.
__global__ void __launch_bounds__(kPatternThreads) SumColumnsKernel(SumLaunch p) {
  const std::uint32_t pair = blockIdx.x % p.row_blocks * kPatternThreads + threadIdx.x;
  const std::uint32_t feature = blockIdx.x / p.row_blocks;
  const std::uint32_t row = 2 * pair;
  if (row >= p.rows) return;
  const std::size_t side = p.features + 1;
  double* first = p.out + (std::size_t{row} * p.groups + blockIdx.y) * side + feature;
  double* second = first + p.groups * side;
  const bool both = row + 1 < p.rows;
  double sums[2] = {};
  if (feature < p.features) {
    if (p.continues && blockIdx.y == 0) {
      sums[0] = *first;
      if (both) sums[1] = *second;
    }
    const std::uint32_t* begin = p.begin + std::size_t{blockIdx.y} * p.features + feature;
    const std::uint32_t end = begin[1];
#pragma unroll 4
    for (std::uint32_t c = begin[0]; c < end; ++c) {
      const uint2 column = __ldg(p.columns + c);
      const std::uint32_t patterns =
          __ldg(p.patterns + column.x * std::size_t{kPatternRows / 2} + pair);
      sums[0] += __ldg(p.table + column.y + (patterns & 0xffffu));
      sums[1] += __ldg(p.table + column.y + (patterns >> 16));
    }
  }
  *first = sums[0];
  if (both) *second = sums[1];
}

}  // namespace

void DeviceTables::Prepare(const PatternModel& model) {
  model_ = &model;
  treelets_.Upload(model.treelets);
  bits_.Upload(model.bits);
  leaves_.Upload(model.leaves);
  leaf_features_.Upload(model.leaf_features);
  sets_.Upload(model.sets);
  counts_.Reserve(model.counts);
  table_.Reserve(model.table);
  reached_.Reserve(model.leaves.size());
  PlanRanges();
}

// Ranges depend on the model alone, and sums take treelets in their order. Outputs without treelets
// belong to the range before.
void DeviceTables::PlanRanges() {
  const auto features = static_cast<std::size_t>(model_->deep.features);
  const auto groups = static_cast<std::uint32_t>(model_->deep.groups);
  const auto treelets = static_cast<std::uint32_t>(model_->treelets.size());
  ranges_.clear();
  std::vector<uint2> columns;
  std::vector<std::uint32_t> begin;
  std::uint32_t next_group = 0;
  for (std::uint32_t first = 0; first < treelets || next_group < groups;) {
    Range range{first, std::min(kPatternTreelets, treelets - first), next_group};
    const std::uint32_t end = first + range.treelets;
    if (first > 0) {
      range.continues = model_->groups[first] == model_->groups[first - 1];
      range.first_group -= range.continues ? 1 : 0;
    }
    next_group = end == treelets ? groups : static_cast<std::uint32_t>(model_->groups[end - 1]) + 1;
    range.groups = next_group - range.first_group;
    range.begin = begin.size();
    std::vector<std::vector<uint2>> lists(range.groups * features);
    for (std::uint32_t t = first; t < end; ++t) {
      const Treelet& treelet = model_->treelets[t];
      const std::size_t group = static_cast<std::uint32_t>(model_->groups[t]) - range.first_group;
      for (std::uint32_t c = 0; c < treelet.columns; ++c) {
        const auto feature = static_cast<std::size_t>(model_->columns[treelet.first_column + c]);
        const std::uint64_t at = treelet.table + (std::uint64_t{c} << treelet.bits);
        lists[group * features + feature].push_back({t - first, static_cast<std::uint32_t>(at)});
      }
    }
    for (const auto& list : lists) {
      begin.push_back(static_cast<std::uint32_t>(columns.size()));
      columns.insert(columns.end(), list.begin(), list.end());
    }
    begin.push_back(static_cast<std::uint32_t>(columns.size()));
    ranges_.push_back(range);
    first = end;
  }
  columns_.Upload(columns);
  begin_.Upload(begin);
}

void DeviceTables::ClearCounts() {
  counts_.Zeros(model_->counts);
  CheckCuda(cudaStreamSynchronize(nullptr), "clearing counts");  // other streams do not wait
}

void DeviceTables::Count(const DeviceColumns& rows, cudaStream_t stream) {
  if (model_->treelets.empty()) return;
  const std::uint32_t chunks = (rows.rows + kCountedRows - 1) / kCountedRows;
  const auto blocks = static_cast<std::uint32_t>(model_->treelets.size()) * chunks;
  const std::size_t shared = sizeof(std::uint32_t) << model_->most_bits;
  CountPatternsKernel<<<blocks, kPatternThreads, shared, stream>>>(
      {treelets_.data(), bits_.data(), sets_.data(), rows}, chunks, counts_.data());
  CheckCuda(cudaGetLastError(), "counting patterns");
}

std::vector<std::uint32_t> DeviceTables::Make(std::size_t background_rows) {
  std::vector<std::uint32_t> reached(model_->leaves.size());
  if (model_->treelets.empty()) return reached;
  constexpr ShapleyWeights kWeights;
  const std::uint32_t bits = model_->most_bits;
  const std::size_t shared = AllowSharedMemory(
      MakeTablesKernel, (2 * sizeof(std::uint32_t) + sizeof(std::uint16_t)) << bits);
  const auto treelets = static_cast<std::uint32_t>(model_->treelets.size());
  const auto resident = static_cast<std::uint32_t>(
      MultiprocessorCount() * BlocksOnMultiprocessor(MakeTablesKernel, kTableThreads, shared));
  const std::uint32_t blocks = std::min(treelets, resident);
  const DeviceArray<double> weighted(blocks * (std::size_t{2} << bits));
  MakeTablesKernel<<<blocks, kTableThreads, shared>>>(
      treelets_.data(), treelets,
      {leaves_.data(), leaf_features_.data(), counts_.data(), static_cast<double>(background_rows)},
      kWeights, bits, weighted.data(), table_.data(), reached_.data());
  CheckCuda(cudaGetLastError(), "making tables");
  reached_.Download(reached);
  return reached;
}

void DeviceTables::Explain(const DeviceColumns& rows, double* out, cudaStream_t stream) {
  const auto features = static_cast<std::uint32_t>(model_->deep.features);
  const auto groups = static_cast<std::uint32_t>(model_->deep.groups);
  const std::size_t side = std::size_t{features} + 1;
  patterns_.Reserve(std::min<std::size_t>(kPatternTreelets, model_->treelets.size()) *
                    (kPatternRows / 2));
  for (std::uint32_t first = 0; first < rows.rows; first += kPatternRows) {
    DeviceColumns some = rows;
    some.x += first;
    some.rows = std::min(kPatternRows, rows.rows - first);
    const std::uint32_t row_blocks =
        (some.rows + DeviceColumns::kPaddedRows - 1) / DeviceColumns::kPaddedRows;
    for (const Range& range : ranges_) {
      if (range.treelets > 0) {
        const dim3 grid(row_blocks, (range.treelets + kBlockTreelets - 1) / kBlockTreelets);
        FindPatternsKernel<<<grid, kPatternThreads, 0, stream>>>(
            {treelets_.data() + range.first, bits_.data(), sets_.data(), some}, range.treelets,
            patterns_.data());
        CheckCuda(cudaGetLastError(), "finding patterns");
      }
      SumLaunch sum{};
      sum.patterns = patterns_.data();
      sum.table = table_.data();
      sum.columns = columns_.data();
      sum.begin = begin_.data() + range.begin;
      sum.out = out + first * groups * side + range.first_group * side;
      sum.rows = some.rows;
      sum.row_blocks = row_blocks;
      sum.features = features;
      sum.groups = groups;
      sum.continues = range.continues;
      const dim3 grid(row_blocks * (features + 1), range.groups);
      SumColumnsKernel<<<grid, kPatternThreads, 0, stream>>>(sum);
      CheckCuda(cudaGetLastError(), "adding up tables");
    }
  }
}

}  // namespace retable::treeshap
