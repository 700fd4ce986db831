# Turns files into C++ arrays: cmake -DOUTPUT=<file.cpp> -DFILES=<a,b,...> -P embed.cmake
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(table "")
set(index 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  file(SIZE ${file} size)
  string(APPEND arrays "const unsigned char kFile${index}[] = {${bytes}};\n")
  string(APPEND table "    {\"${name}\", kFile${index}, ${size}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Generated from datasets/embedded and datasets/registry.toml.
#include \"datasets/registry/embedded_files.hpp\"
namespace retable::datasets {
namespace {
${arrays}const EmbeddedBytes kTable[] = {
${table}};
}  // namespace
const std::span<const EmbeddedBytes> kEmbeddedFiles(kTable);
}  // namespace retable::datasets
")
