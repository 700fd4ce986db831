# The fuzz target of the serialised sketch. A tenth of the inputs of a parser: each may take a fit.
if(RETABLE_FUZZ)
  set(quantiles_sources algorithms/common/parameters.cpp)
  foreach(source sketch_fuzz chebyshev_accumulator dual jacobi max_entropy moment_accumulator moments
          quadrature retable_fit retable_sketch)
    list(APPEND quantiles_sources algorithms/quantiles/${source}.cpp)
  endforeach()
  math(EXPR quantiles_runs "${RETABLE_FUZZ_RUNS} / 10")
  retable_fuzz(sketch algorithms/quantiles/fuzz_corpus 133 ${quantiles_runs} ${quantiles_sources})
endif()
