// A stand-in for NVIDIA's driver library, for tests of machines whose driver cannot be used: built
// as libcuda.so.1, it answers what the CUDA runtime asks first, with the version in
// STAND_IN_VERSION (13000 is 13.0) and, from cuInit, the error in STAND_IN_ERROR.

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

int Number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

constexpr int kNotInitialised = 3, kNotFound = 500;

int NotInitialised() {
  return kNotInitialised;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return Number("STAND_IN_ERROR", 0);
}
int cuDriverGetVersion(int* version) {
  *version = Number("STAND_IN_VERSION", 13000);
  return 0;
}
int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kNotFound;
}
int cuGetProcAddress_v2(const char* symbol, void** function, int, std::uint64_t, int* found) {
  const std::string_view name = symbol;
  *function = name == "cuInit"               ? reinterpret_cast<void*>(cuInit)
              : name == "cuDriverGetVersion" ? reinterpret_cast<void*>(cuDriverGetVersion)
              : name == "cuGetExportTable"   ? reinterpret_cast<void*>(cuGetExportTable)
              : name == "cuGetProcAddress"   ? reinterpret_cast<void*>(cuGetProcAddress_v2)
                                             : reinterpret_cast<void*>(NotInitialised);
  if (found != nullptr) *found = 0;
  return 0;
}
int cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
}
