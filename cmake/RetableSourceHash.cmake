# A hash of each family's sources, taken at build: it goes into every cell's key, so that changed code
# never shows old results. This file is both included (to declare the rule) and run as a script.

function(retable_family_files family out)
  set(globs)
  set(folders base algorithms/common algorithms/${family} baselines/${family} experiments/common experiments/${family}
      harness/timing)
  if(family STREQUAL "shapley")
    list(APPEND folders algorithms/treeshap)  # whose models are games
  endif()
  foreach(folder ${folders})
    foreach(ending cpp hpp cu cuh)
      list(APPEND globs ${RETABLE_SOURCE}/${folder}/*.${ending})
    endforeach()
  endforeach()
  # Contenders in other languages.
  list(APPEND globs ${RETABLE_SOURCE}/baselines/${family}/*.py)
  if(CMAKE_SCRIPT_MODE_FILE)
    file(GLOB_RECURSE files ${globs})
  else()
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${globs})
  endif()
  list(APPEND files ${RETABLE_SOURCE}/baselines/contender.py)
  list(FILTER files EXCLUDE REGEX "_(test|testing|fuzz)\\.|shuffle/testing/")
  list(SORT files)
  set(${out} ${files} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  set(table "")
  string(REPLACE "," ";" families "${RETABLE_FAMILIES}")
  foreach(family ${families})
    retable_family_files(${family} files)
    set(all "")
    foreach(file ${files})
      file(SHA256 ${file} hash)
      string(APPEND all "${hash}\n")
    endforeach()
    string(SHA256 hash "${all}")
    string(APPEND table "      {\"${family}\", \"${hash}\"},\n")
  endforeach()
  file(WRITE ${RETABLE_OUTPUT}.new
"// Generated at build from the families' sources.
#include <map>

#include \"harness/plan/plan.hpp\"

namespace retable::harness {
std::string FamilySourceHash(const std::string& family) {
  static const std::map<std::string, std::string> hashes = {
${table}  };
  const auto found = hashes.find(family);
  return found == hashes.end() ? \"\" : found->second;
}
}  // namespace retable::harness
")
  execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${RETABLE_OUTPUT}.new
                          ${RETABLE_OUTPUT})
else()
  set(RETABLE_SOURCE ${CMAKE_SOURCE_DIR})
  file(GLOB RETABLE_FAMILIES CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE
       ${CMAKE_SOURCE_DIR}/algorithms ${CMAKE_SOURCE_DIR}/algorithms/*)
  list(REMOVE_ITEM RETABLE_FAMILIES common)
  set(RETABLE_HASHED_FILES)
  foreach(family ${RETABLE_FAMILIES})
    retable_family_files(${family} files)
    list(APPEND RETABLE_HASHED_FILES ${files})
  endforeach()
  list(REMOVE_DUPLICATES RETABLE_HASHED_FILES)
  set(RETABLE_SOURCE_HASHES ${CMAKE_BINARY_DIR}/source_hashes.cpp)
  string(REPLACE ";" "," families "${RETABLE_FAMILIES}")
  add_custom_command(
    OUTPUT ${RETABLE_SOURCE_HASHES}
    COMMAND ${CMAKE_COMMAND} -DRETABLE_SOURCE=${CMAKE_SOURCE_DIR} "-DRETABLE_FAMILIES=${families}"
            -DRETABLE_OUTPUT=${RETABLE_SOURCE_HASHES}
            -P ${CMAKE_SOURCE_DIR}/cmake/RetableSourceHash.cmake
    DEPENDS ${RETABLE_HASHED_FILES} ${CMAKE_SOURCE_DIR}/cmake/RetableSourceHash.cmake VERBATIM)
endif()
