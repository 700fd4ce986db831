# XGBoost is a peer where its C library is installed (libxgboost-dev); without it its rows are absent.
find_path(XGBOOST_INCLUDE_DIR xgboost/c_api.h)
find_library(XGBOOST_LIBRARY xgboost)
mark_as_advanced(XGBOOST_INCLUDE_DIR XGBOOST_LIBRARY)
if(XGBOOST_INCLUDE_DIR AND XGBOOST_LIBRARY)
  target_compile_definitions(retable_baselines_treeshap PUBLIC RETABLE_HAS_XGBOOST=1)
  target_include_directories(retable_baselines_treeshap SYSTEM PUBLIC ${XGBOOST_INCLUDE_DIR})
  target_link_libraries(retable_baselines_treeshap PUBLIC ${XGBOOST_LIBRARY})
endif()

# The published implementation is a peer where its header is found:
# -DGPUTREESHAP_INCLUDE_DIR=<checkout of rapidsai/gputreeshap>.
if(RETABLE_HAS_CUDA)
  find_path(GPUTREESHAP_INCLUDE_DIR GPUTreeShap/gpu_treeshap.h)
  mark_as_advanced(GPUTREESHAP_INCLUDE_DIR)
  if(GPUTREESHAP_INCLUDE_DIR)
    target_compile_definitions(retable_baselines_treeshap PUBLIC RETABLE_HAS_GPUTREESHAP=1)
    target_include_directories(retable_baselines_treeshap SYSTEM PUBLIC ${GPUTREESHAP_INCLUDE_DIR})
  else()
    # Compiled against declarations and not linked, so that a change of what it calls is seen without the header.
    add_library(retable_rapids_compiles OBJECT baselines/treeshap/rapids_gpu_tree_shap.cu)
    target_link_libraries(retable_rapids_compiles PRIVATE retable_base retable_flags)
    target_compile_definitions(retable_rapids_compiles PRIVATE RETABLE_HAS_GPUTREESHAP=1)
    target_include_directories(retable_rapids_compiles SYSTEM PRIVATE baselines/treeshap/testing)
  endif()
endif()
