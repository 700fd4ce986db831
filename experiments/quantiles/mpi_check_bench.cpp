//! @file
//! The MPI reduction of sketches, on as many ranks as mpirun starts:
//!
//!     mpirun -n 4 quantiles_mpi_check
//!
//! Every rank sums its chunks of one stream; after the reduction each has the sums of all, with the
//! bits that one rank alone would have. Exit status 1 when they differ.

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "algorithms/common/philox.hpp"
#include "algorithms/quantiles/mpi_reduction.hpp"
#include "algorithms/quantiles/power_sums.hpp"

namespace retable::quantiles {
namespace {

//! Value i of the stream: offset, skewed, every 1000th missing.
double ValueAt(std::uint64_t i) {
  const double u = UniformDoubleOpenBelow(Philox4x32::FromSeed(3).Block(i).half(0));
  return i % 1000 == 7 ? std::nan("") : 1000 - 3 * std::log(u);
}

std::vector<double> Part(std::uint64_t begin, std::uint64_t end) {
  std::vector<double> values;
  for (std::uint64_t i = begin; i < end; ++i) values.push_back(ValueAt(i));
  return values;
}

int Check() {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::uint64_t n = 5 * kChunk + 12345;
  const ChunkRange range = ChunksOfRank(n, rank, ranks);
  const std::vector<double> mine =
      Part(std::min(n, range.begin * kChunk), std::min(n, range.end * kChunk));
  const SumForest forest = SumChunks(std::span<const double>(mine), range.begin, kMaxOrder);
  const ColumnSums sums = ReduceByMpi(forest, MPI_COMM_WORLD);
  const std::vector<double> all = Part(0, n);
  const ColumnSums alone = SumChunks(std::span<const double>(all), 0, kMaxOrder).Total();
  const int same = std::memcmp(&sums.sums, &alone.sums, sizeof sums.sums) == 0 ? 1 : 0;
  int everywhere = 0;
  MPI_Allreduce(&same, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%d ranks, %.0f values: %s\n", ranks, sums.sums.sum[0],
                everywhere == 1 ? "the bits of one rank" : "OTHER BITS");
  }
  return everywhere == 1 ? 0 : 1;
}

}  // namespace
}  // namespace retable::quantiles

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = retable::quantiles::Check();
  MPI_Finalize();
  return status;
}
