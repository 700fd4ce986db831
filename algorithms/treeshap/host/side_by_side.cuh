#pragma once
//! @file
//! Tapes of one call, each of which fills a part of the device alone.

#include "base/cuda/streams.hpp"

namespace retable::treeshap {

//! What a tape runs on.
struct TapeStream {
  CudaStream stream;
  CudaEvent done;
};

//! Calls launch(tape, stream) for each of the tapes, pointers to TapeStreams, on the tape's own
//! stream: behind what is in `stream`, where what comes later waits for all. One tape alone runs in
//! `stream`: events between streams take longer than a small model.
template <class Tapes, class Launch>
void RunSideBySide(const Tapes& tapes, const CudaEvent& ready, cudaStream_t stream,
                   const Launch& launch) {
  if (tapes.size() == 1) return launch(*tapes[0], stream);
  ready.Record(stream);
  for (const auto& tape : tapes) {
    const cudaStream_t own = tape->stream.get();
    CheckCuda(cudaStreamWaitEvent(own, ready.get()), "wait");
    launch(*tape, own);
    tape->done.Record(own);
    CheckCuda(cudaStreamWaitEvent(stream, tape->done.get()), "wait");
  }
}

}  // namespace retable::treeshap
