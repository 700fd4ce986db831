# Apache DataSketches, header only, optional: more peers.
find_path(DATASKETCHES_INCLUDE_DIR DataSketches/kll_sketch.hpp
          HINTS ${DATASKETCHES_ROOT} ENV DATASKETCHES_ROOT PATH_SUFFIXES include)
mark_as_advanced(DATASKETCHES_INCLUDE_DIR)
if(DATASKETCHES_INCLUDE_DIR)
  target_include_directories(retable_baselines_quantiles SYSTEM PUBLIC ${DATASKETCHES_INCLUDE_DIR})
  target_compile_definitions(retable_baselines_quantiles PUBLIC RETABLE_HAS_DATASKETCHES=1)
endif()
