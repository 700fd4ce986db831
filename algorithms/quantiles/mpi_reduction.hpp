#pragma once
//! @file
//! Sums of a stream spread over MPI ranks, by a reduction operator of our own. Header only: what
//! includes it needs MPI, the library does not.
//!
//! The operator appends the forest of the higher ranks to that of the lower ones (sum_forest.hpp);
//! it is associative and not commutative, which MPI is told, so that any tree it chooses ends with
//! the same bits, whatever the number of ranks. A message is 37 kB.

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/quantiles/sum_forest.hpp"

namespace retable::quantiles {

//! @throws std::runtime_error saying what MPI could not do.
inline void CheckMpi(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw std::runtime_error(std::string(what) + ": " + std::string(text, text + length));
}

//! MPI_User_function: inout = in, then inout.
inline void AppendForests(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  auto* lower = static_cast<double*>(in);
  auto* higher = static_cast<double*>(inout);
  for (int i = 0; i < *count; ++i) {
    SumForest forest = SumForest::Unpack({lower, SumForest::kWireDoubles});
    forest.Append(SumForest::Unpack({higher, SumForest::kWireDoubles}));
    const std::vector<double> wire = forest.Pack();
    std::copy(wire.begin(), wire.end(), higher);
    lower += SumForest::kWireDoubles;
    higher += SumForest::kWireDoubles;
  }
}

//! The sums of all ranks' chunks, on every rank. Collective; ranks hold adjacent ranges in the
//! order of their numbers (ChunksOfRank), and may hold none. @throws std::runtime_error on an MPI
//! error.
inline ColumnSums ReduceByMpi(const SumForest& mine, MPI_Comm communicator) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op append = MPI_OP_NULL;
  CheckMpi(MPI_Type_contiguous(static_cast<int>(SumForest::kWireDoubles), MPI_DOUBLE, &type),
           "MPI_Type_contiguous");
  CheckMpi(MPI_Type_commit(&type), "MPI_Type_commit");
  CheckMpi(MPI_Op_create(AppendForests, /*commute=*/0, &append), "MPI_Op_create");
  const std::vector<double> wire = mine.Pack();
  std::vector<double> joint(wire.size());
  const int result = MPI_Allreduce(wire.data(), joint.data(), 1, type, append, communicator);
  MPI_Op_free(&append);
  MPI_Type_free(&type);
  CheckMpi(result, "MPI_Allreduce");
  return SumForest::Unpack(joint).Total();
}

}  // namespace retable::quantiles
