# A script of each build, which CMake's configuration would be too old for: OUT tells which commit of SOURCE is built.
# An archive (git archive) has no .git but its commit in a file; a repository around it is not asked.
set(commit "")
set(changes "")
set(new "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git rev-parse HEAD WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git --no-optional-locks status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE changes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # New files count, too, where sources are globbed: the same folders as in build_info.cpp.
  execute_process(COMMAND git --no-optional-locks status --porcelain -- algorithms apps base baselines cmake datasets
                          experiments harness include library CMakeLists.txt WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE new OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
else()
  file(STRINGS ${SOURCE}/harness/machine/commit.txt commit REGEX "^[0-9a-f]+$")
endif()
set(dirty false)
if(changes OR new)
  set(dirty true)
endif()
# Written only where it differs: one file is compiled again.
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
"// Generated at build (harness/machine/commit.cmake).
#include \"harness/machine/build_info.hpp\"

namespace retable::harness {
SourceState BuiltSourceState() {
  return {.commit = \"@commit@\", .dirty = @dirty@};
}
}  // namespace retable::harness
")
