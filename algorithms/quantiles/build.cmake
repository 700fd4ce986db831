# The fuzz target of the serialised sketch. A tenth of the inputs of a parser: each may take a fit.
if(RETABLE_FUZZ)
  math(EXPR quantiles_runs "${RETABLE_FUZZ_RUNS} / 10")
  retable_fuzz(sketch algorithms/quantiles/fuzz_corpus 133 ${quantiles_runs}
    algorithms/common/parameters.cpp
    algorithms/quantiles/chebyshev_accumulator.cpp
    algorithms/quantiles/dual.cpp
    algorithms/quantiles/jacobi.cpp
    algorithms/quantiles/max_entropy.cpp
    algorithms/quantiles/moment_accumulator.cpp
    algorithms/quantiles/moments.cpp
    algorithms/quantiles/quadrature.cpp
    algorithms/quantiles/retable_fit.cpp
    algorithms/quantiles/retable_sketch.cpp
    algorithms/quantiles/sketch_fuzz.cpp)
endif()
