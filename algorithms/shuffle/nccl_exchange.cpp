#if defined(RETABLE_HAS_CUDA)

#include "algorithms/shuffle/nccl_exchange.hpp"

#include <stdexcept>

#include "algorithms/common/nccl.hpp"

namespace retable::shuffle {

#if defined(RETABLE_HAS_NCCL)

struct NcclExchange::Communicators {
  std::vector<ncclComm_t> of_rank;
  ~Communicators() {
    for (ncclComm_t communicator : of_rank) Nccl().CommDestroy(communicator);
  }
};

NcclExchange::NcclExchange(const std::vector<int>& devices)
    : communicators_(std::make_unique<Communicators>()) {
  std::vector<ncclComm_t> made(devices.size());
  CheckNccl(Nccl().CommInitAll(made.data(), static_cast<int>(devices.size()), devices.data()),
            "ncclCommInitAll");
  communicators_->of_rank = made;
}

void NcclExchange::Enqueue(std::span<const SentPart> parts, std::span<const cudaStream_t> streams) {
  const NcclFunctions& nccl = Nccl();
  CheckNccl(nccl.GroupStart(), "ncclGroupStart");
  for (const SentPart& part : parts) {
    const auto sender = static_cast<std::size_t>(part.sender);
    const auto receiver = static_cast<std::size_t>(part.receiver);
    CheckNccl(nccl.Send(part.from, part.bytes, ncclUint8, part.receiver,
                        communicators_->of_rank[sender], streams[sender]),
              "ncclSend");
    CheckNccl(nccl.Recv(part.to, part.bytes, ncclUint8, part.sender,
                        communicators_->of_rank[receiver], streams[receiver]),
              "ncclRecv");
  }
  CheckNccl(nccl.GroupEnd(), "ncclGroupEnd");
}

#else

struct NcclExchange::Communicators {};

NcclExchange::NcclExchange(const std::vector<int>&) {
  throw std::runtime_error("built without NCCL: install nccl.h and build again");
}
void NcclExchange::Enqueue(std::span<const SentPart>, std::span<const cudaStream_t>) {}

#endif

NcclExchange::~NcclExchange() = default;

}  // namespace retable::shuffle

#endif
