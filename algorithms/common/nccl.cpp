#include "algorithms/common/nccl.hpp"

#if defined(RETABLE_HAS_NCCL)

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace retable {
namespace {

template <class Function>
void Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("libnccl.so.2 lacks ") + name);
}

NcclFunctions Open() {
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(std::string(dlerror()) +
                             " (install NCCL, or put its folder into LD_LIBRARY_PATH)");
  }
  NcclFunctions f{};
  Find(library, "ncclGetVersion", f.GetVersion);
  Find(library, "ncclGetErrorString", f.GetErrorString);
  Find(library, "ncclCommInitAll", f.CommInitAll);
  Find(library, "ncclCommDestroy", f.CommDestroy);
  Find(library, "ncclGroupStart", f.GroupStart);
  Find(library, "ncclGroupEnd", f.GroupEnd);
  Find(library, "ncclAllGather", f.AllGather);
  Find(library, "ncclAllReduce", f.AllReduce);
  Find(library, "ncclSend", f.Send);
  Find(library, "ncclRecv", f.Recv);
  return f;
}

}  // namespace

const NcclFunctions& Nccl() {
  static const NcclFunctions functions = Open();
  return functions;
}

void CheckNccl(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) {
    throw std::runtime_error(std::string(what) + ": " + Nccl().GetErrorString(result));
  }
}

}  // namespace retable

#endif
