#include "harness/timing/pinning.hpp"

#include <sys/resource.h>

#include <chrono>

namespace retable::harness {
namespace {

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

double SteadyNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Pinned::Pinned(bool wanted) {
  if (!wanted) return;
  const int here = sched_getcpu();
  CPU_ZERO(&before_);
  if (here < 0 || sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(here), &one);
  if (sched_setaffinity(0, sizeof(one), &one) == 0) processor_ = here;
}

Pinned::~Pinned() {
  if (processor_ >= 0) sched_setaffinity(0, sizeof(before_), &before_);
}

CoresUsed::CoresUsed() : wall_(SteadyNow()), processor_(ProcessorSeconds()) {}

double CoresUsed::SoFar() const {
  const double wall = SteadyNow() - wall_;
  return wall > 0 ? (ProcessorSeconds() - processor_) / wall : 0;
}

}  // namespace retable::harness
