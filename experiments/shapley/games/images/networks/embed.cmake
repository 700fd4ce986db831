# Turns the networks into C++ arrays: cmake -DOUTPUT=<file.cpp> -DFOLDER=<folder> -P embed.cmake
set(arrays "")
set(cases "")
foreach(name digits fashion)
  file(READ ${FOLDER}/${name}.onnx hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "const unsigned char ${name}[] = {${bytes}};\n")
  string(APPEND cases "  if (name == \"${name}\") return {reinterpret_cast<const char*>(${name}), sizeof ${name}};\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from experiments/shapley/games/images/networks.
#include <stdexcept>

#include \"experiments/shapley/games/images/network.hpp\"
namespace retable::experiments {
namespace {
${arrays}}  // namespace
std::string_view NetworkFile(const std::string& name) {
${cases}  throw std::invalid_argument(\"no network \" + name + \" in this program\");
}
}  // namespace retable::experiments
")
