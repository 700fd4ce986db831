# The fuzz target of the serialised sketch. A tenth of the inputs of a parser: each may take a fit.
set(quantiles_fuzzed algorithms/common/parameters.cpp base/csv/number.cpp base/parallel.cpp)
foreach(source estimators/chebyshev_fit estimators/jacobi estimators/max_entropy/density
        estimators/max_entropy/dual estimators/max_entropy/quadrature estimators/rank_bounds quantile_sketch
        sketches/chebyshev_sketch sums/chebyshev_accumulator sums/moment_accumulator sums/moments)
  list(APPEND quantiles_fuzzed algorithms/quantiles/${source}.cpp)
endforeach()
retable_fuzzed(quantiles ${quantiles_fuzzed})
retable_fuzz(sketch quantiles algorithms/quantiles/sketches/fuzz/sketch_fuzz.cpp
             algorithms/quantiles/sketches/fuzz/corpus 147 10)
