#include "algorithms/treeshap/host/row_encoder.cuh"

#include <algorithm>
#include <vector>

namespace retable::treeshap {

namespace {

constexpr std::size_t kEncodeThreads = 256;

__global__ void __launch_bounds__(kEncodeThreads)
    EncodeKernel(const float* from, std::size_t count, std::uint32_t columns, const double* cuts,
                 const std::uint32_t* begin, const RankRule* rules, float* to) {
  const std::size_t step = std::size_t{gridDim.x} * kEncodeThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kEncodeThreads + threadIdx.x; i < count;
       i += step) {
    const auto f = static_cast<std::uint32_t>(i % columns);
    to[i] = rules[f].Encode(from[i], cuts + begin[f], begin[f + 1] - begin[f]);
  }
}

}  // namespace

RowEncoder::RowEncoder(const TreeEnsemble& model)
    : columns_(static_cast<std::uint32_t>(model.features)) {
  std::vector<double> cuts;
  std::vector<std::uint32_t> begin{0};
  std::vector<RankRule> rules(columns_);
  for (std::uint32_t f = 0; f < columns_; ++f) {
    const auto found = model.encodings.find(static_cast<std::int32_t>(f));
    if (found != model.encodings.end()) {
      rules[f] = found->second.rule;
      cuts.insert(cuts.end(), found->second.cuts.begin(), found->second.cuts.end());
    }
    begin.push_back(static_cast<std::uint32_t>(cuts.size()));
  }
  cuts_.Upload(cuts);
  begin_.Upload(begin);
  rules_.Upload(rules);
}

DeviceRows RowEncoder::Encode(DeviceRows rows) {
  read_.Wait();
  const std::size_t count = rows.rows * columns_;
  const std::size_t most = 16 * static_cast<std::size_t>(MultiprocessorCount());
  const std::size_t blocks = std::clamp<std::size_t>(count / (4 * kEncodeThreads), 1, most);
  float* to = rows_.Reserve(count);
  EncodeKernel<<<static_cast<unsigned>(blocks), kEncodeThreads, 0,
                 static_cast<cudaStream_t>(rows.stream)>>>(
      rows.values, count, columns_, cuts_.data(), begin_.data(), rules_.data(), to);
  CheckCuda(cudaGetLastError(), "encoding rows");
  rows.values = to;
  return rows;
}

}  // namespace retable::treeshap
