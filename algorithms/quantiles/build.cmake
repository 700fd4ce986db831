# The fuzz target of the serialised sketch. A tenth of the inputs of a parser: each may take a fit.
if(RETABLE_FUZZ)
  math(EXPR quantiles_runs "${RETABLE_FUZZ_RUNS} / 10")
  retable_fuzz(sketch algorithms/quantiles/sketches/fuzz/corpus 147 ${quantiles_runs}
    algorithms/common/parameters.cpp
    algorithms/quantiles/sums/chebyshev_accumulator.cpp
    algorithms/quantiles/estimators/max_entropy/dual.cpp
    algorithms/quantiles/estimators/jacobi.cpp
    algorithms/quantiles/estimators/rank_bounds.cpp
    algorithms/quantiles/estimators/max_entropy/density.cpp
    algorithms/quantiles/sums/moment_accumulator.cpp
    algorithms/quantiles/sums/moments.cpp
    algorithms/quantiles/estimators/max_entropy/quadrature.cpp
    algorithms/quantiles/estimators/chebyshev_fit.cpp
    algorithms/quantiles/quantile_sketch.cpp
    algorithms/quantiles/sketches/chebyshev_sketch.cpp
    algorithms/quantiles/sketches/fuzz/sketch_fuzz.cpp)
endif()
