#pragma once
//! @file
//! How warps take the items of a batch of subtrees; device code.

#include "algorithms/treeshap/quadrature/sharing/row_classes.cuh"

namespace retable::treeshap {

//! Prefetching work queue of a batch: any warp may get any item. What the next one needs
//! is read while the current one is evaluated: its number, the item, and its subtree's record,
//! of which lane i holds word i. All lanes call every function together.
template <class Record>
class ItemQueue {
 public:
  __device__ __forceinline__ ItemQueue(const SubtreeItem* items, const Record* records,
                                       std::uint32_t* counters)
      : items_(items), records_(records), counters_(counters), count_(counters[kItems]) {}
  __device__ __forceinline__ void Start() {
    Draw();
    ReadItem();
    ReadRecord();
  }

  //! Hands out the next item. False where there is none left.
  __device__ __forceinline__ bool Take(SubtreeItem& item, Record& record) {
    if (!any_) return false;
    Spread(item_, item);
    Spread(record_, record);
    return true;
  }

  //! Whether there is a next item; it and the record go to `to`, kWords words that others read.
  __device__ __forceinline__ void Publish(std::uint32_t* to) const {
    if (Lane() < kItemWords) to[Lane()] = item_;
    if (Lane() < kRecordWords) to[kItemWords + Lane()] = record_;
    if (Lane() == 0) to[kItemWords + kRecordWords] = any_ ? 1 : 0;
  }
  static __device__ __forceinline__ bool Any(const std::uint32_t* published) {
    return published[kItemWords + kRecordWords] != 0;
  }
  static __device__ __forceinline__ const SubtreeItem& Item(const std::uint32_t* published) {
    return *reinterpret_cast<const SubtreeItem*>(published);
  }
  static __device__ __forceinline__ const Record& Of(const std::uint32_t* published) {
    return *reinterpret_cast<const Record*>(published + kItemWords);
  }

  //! Begins to read the item after the one handed out.
  __device__ __forceinline__ void ReadItem() {
    const std::uint32_t number = __shfl_sync(kAll, drawn_, 0);
    any_ = number < count_;
    if (!any_) return;
    if (Lane() < kItemWords) {
      item_ = __ldg(reinterpret_cast<const std::uint32_t*>(items_ + number) + Lane());
    }
    Draw();
  }

  //! Begins to read its subtree's record: later, when the item is there.
  __device__ __forceinline__ void ReadRecord() {
    if (!any_) return;
    const std::uint32_t subtree = __shfl_sync(kAll, item_, 0);
    if (Lane() < kRecordWords) {
      record_ = __ldg(reinterpret_cast<const std::uint32_t*>(records_ + subtree) + Lane());
    }
  }

 private:
  static constexpr std::uint32_t kAll = 0xffffffffu;
  static constexpr std::uint32_t kItemWords = sizeof(SubtreeItem) / sizeof(std::uint32_t);
  static constexpr std::uint32_t kRecordWords = sizeof(Record) / sizeof(std::uint32_t);
  static_assert(kRecordWords <= 32);

 public:
  static constexpr std::uint32_t kWords = kItemWords + kRecordWords + 1;

 private:
  static __device__ __forceinline__ std::uint32_t Lane() { return threadIdx.x % 32; }

  __device__ __forceinline__ void Draw() {
    if (Lane() == 0) drawn_ = atomicAdd(counters_ + kItemsTaken, 1u);
  }

  template <class T>
  static __device__ __forceinline__ void Spread(std::uint32_t word, T& to) {
    std::uint32_t words[sizeof(T) / sizeof(std::uint32_t)];
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof(std::uint32_t)); ++i) {
      words[i] = __shfl_sync(kAll, word, i);
    }
    memcpy(&to, words, sizeof(T));
  }

  const SubtreeItem* items_;
  const Record* records_;
  std::uint32_t* counters_;
  std::uint32_t count_;
  std::uint32_t drawn_ = 0;  // in lane 0: the number after the next
  std::uint32_t item_ = 0, record_ = 0;
  bool any_ = false;
};

}  // namespace retable::treeshap
