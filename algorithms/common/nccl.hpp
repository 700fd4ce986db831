#pragma once
//! @file
//! NCCL for the paths that join several GPUs, opened at run time.
//!
//! Compiled where CMake found nccl.h (cmake/FindNCCL.cmake): RETABLE_HAS_NCCL says so. The library
//! itself, libnccl.so.2, is looked for when first needed, where the dynamic linker looks
//! (LD_LIBRARY_PATH; PyTorch's wheels bring one), so that the program also starts without it.

#if defined(RETABLE_HAS_NCCL)

#include <nccl.h>

namespace retable {

//! The functions of NCCL that this project calls, under their own names.
struct NcclFunctions {
  decltype(&::ncclGetVersion) GetVersion;
  decltype(&::ncclGetErrorString) GetErrorString;
  decltype(&::ncclCommInitAll) CommInitAll;
  decltype(&::ncclCommDestroy) CommDestroy;
  decltype(&::ncclGroupStart) GroupStart;
  decltype(&::ncclGroupEnd) GroupEnd;
  decltype(&::ncclAllGather) AllGather;
  decltype(&::ncclAllReduce) AllReduce;
  decltype(&::ncclSend) Send;
  decltype(&::ncclRecv) Recv;
};

//! The library, opened once. @throws std::runtime_error where it is absent or lacks a function.
const NcclFunctions& Nccl();

//! @throws std::runtime_error saying `what` failed and how.
void CheckNccl(ncclResult_t result, const char* what);

}  // namespace retable

#endif
