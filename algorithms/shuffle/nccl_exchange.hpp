#pragma once
//! @file
//! Parts of arrays changing devices by NCCL: an all-to-all of sends and receives in one group.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace retable::shuffle {

//! Bytes that one rank has for another.
struct SentPart {
  const void* from;
  void* to;
  std::uint64_t bytes;
  int sender, receiver;
};

class NcclExchange {
 public:
  //! Rank g is devices[g], each named once. @throws std::runtime_error where NCCL is missing, at
  //! build time (nccl.h) or run time (libnccl.so.2), or fails.
  explicit NcclExchange(const std::vector<int>& devices);
  ~NcclExchange();
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;

  //! Enqueues all parts, those of rank g on streams[g]. For two ranks the order of the parts is
  //! that in which they arrive.
  void Enqueue(std::span<const SentPart> parts, std::span<const cudaStream_t> streams);

 private:
  struct Communicators;
  std::unique_ptr<Communicators> communicators_;
};

}  // namespace retable::shuffle
