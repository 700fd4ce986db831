#include "algorithms/treeshap/quadrature/tape/accumulators.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <stdexcept>

namespace retable::treeshap {

namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

float& At(std::vector<Float4>& words, std::size_t at) {
  return reinterpret_cast<float*>(words.data())[at];
}

// The sums of each instruction with the next instruction that adds to them.
struct Use {
  std::size_t word;  // where it is named
  std::uint32_t feature;
  std::size_t next;
};

class SlotAllocator {
 public:
  SlotAllocator(const Instructions& run, std::uint32_t max_slots)
      : run_(run), most_(max_slots), names_(run.words) {
    FindUses();
  }

  SlottedInstructions Run() {
    for (std::size_t i = 0; i < run_.starts.size(); ++i) {
      const auto uses = std::span(uses_).subspan(first_[i], first_[i + 1] - first_[i]);
      MakeRoom(uses);
      for (const Use& use : uses) Add(use);
      Copy(i);
    }
    std::vector<std::uint32_t> all;
    for (std::uint32_t p = 0; p < slots_.size(); ++p) {
      if (slots_[p].adds == 0) continue;
      all.push_back(p);
      Release(p);
    }
    Spill(all);
    out_.slot_count = static_cast<std::uint32_t>(slots_.size());
    return std::move(out_);
  }

 private:
  struct Slot {
    std::uint32_t feature = 0;
    std::size_t next = kNever;  // instruction that adds to it
    std::uint32_t adds = 0;     // since it was empty; 0: nobody's
  };

  void FindUses() {
    std::size_t k = 0;
    for (std::size_t i = 0; i < run_.starts.size(); ++i) {
      first_.push_back(k);
      const std::size_t end = i + 1 < run_.starts.size() ? run_.starts[i + 1] : run_.words.size();
      for (; k < run_.sums.size() && run_.sums[k] < 4 * end; ++k) {
        const auto bits = std::bit_cast<std::uint32_t>(At(names_, run_.sums[k]));
        uses_.push_back({run_.sums[k], bits & tape::kSlottedFeatureMask, kNever});
      }
    }
    first_.push_back(k);
    std::uint32_t features = 0;
    for (const Use& use : uses_) features = std::max(features, use.feature + 1);
    slot_of_.assign(features, kNoSlot);
    std::vector<std::size_t> next(features, kNever);
    for (std::size_t i = run_.starts.size(); i-- > 0;) {
      for (std::size_t u = first_[i]; u < first_[i + 1]; ++u) {
        uses_[u].next = next[uses_[u].feature];
      }
      for (std::size_t u = first_[i]; u < first_[i + 1]; ++u) next[uses_[u].feature] = i;
    }
  }

  // Allocates slots for all sums of an instruction. Sums of kMaxAdds additions are spilled.
  void MakeRoom(std::span<const Use> uses) {
    auto& [fresh, kept, spilled, others] = room_;
    for (auto* list : {&fresh, &kept, &spilled}) list->clear();
    for (const Use& use : uses) {
      const std::uint32_t slot = slot_of_[use.feature];
      if (slot == kNoSlot) {
        if (std::find(fresh.begin(), fresh.end(), use.feature) == fresh.end()) {
          fresh.push_back(use.feature);
        }
      } else if (slots_[slot].adds >= kMaxAdds) {
        spilled.push_back(slot);
        fresh.push_back(use.feature);
        Release(slot);
      } else {
        kept.push_back(slot);
      }
    }
    const std::size_t room = free_.size() + std::max(most_, slots_.size()) - slots_.size();
    if (room < fresh.size()) {
      FindLatest(std::max(fresh.size() - room, kSpilledAtOnce));
      for (const std::uint32_t p : others) {
        spilled.push_back(p);
        Release(p);
      }
    }
    Spill(spilled);
    for (const std::uint32_t feature : fresh) Take(feature);
  }

  // Others: those in use that are not kept, whose features come again last.
  void FindLatest(std::size_t count) {
    auto& [fresh, kept, spilled, others] = room_;
    others.clear();
    for (std::uint32_t p = 0; p < slots_.size(); ++p) {
      if (slots_[p].adds > 0 && std::find(kept.begin(), kept.end(), p) == kept.end()) {
        others.push_back(p);
      }
    }
    count = std::min(count, others.size());
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count),
                      others.end(), [&](std::uint32_t a, std::uint32_t b) {
                        return slots_[a].next != slots_[b].next ? slots_[a].next > slots_[b].next
                                                                : a < b;
                      });
    others.resize(count);
  }

  void Release(std::uint32_t slot) {
    slot_of_[slots_[slot].feature] = kNoSlot;
    out_.columns.push_back(static_cast<std::int32_t>(slots_[slot].feature));
    slots_[slot].adds = 0;
    free_.push_back(slot);
  }

  void Take(std::uint32_t feature) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    slot_of_[feature] = free_.back();
    slots_[free_.back()].feature = feature;
    free_.pop_back();
  }

  void Add(const Use& use) {
    const std::uint32_t p = slot_of_[use.feature];
    slots_[p].next = use.next;
    ++slots_[p].adds;
    float& word = At(names_, use.word);
    word = Word(std::bit_cast<std::uint32_t>(word) | p << tape::kSlotShift);
  }

  // The slots become their names.
  void Spill(std::vector<std::uint32_t>& slots) {
    if (slots.empty()) return;
    Instructions& to = out_.instructions;
    to.starts.push_back(to.words.size());
    to.words.push_back({Word(tape::kSpill), Word(static_cast<std::uint32_t>(slots.size())), 0, 0});
    for (std::uint32_t& slot : slots) slot <<= tape::kSlotShift;
    Words(slots, to.words);
  }

  void Copy(std::size_t instruction) {
    const std::size_t end =
        instruction + 1 < run_.starts.size() ? run_.starts[instruction + 1] : run_.words.size();
    Instructions& to = out_.instructions;
    to.starts.push_back(to.words.size());
    to.words.insert(to.words.end(),
                    names_.begin() + static_cast<std::ptrdiff_t>(run_.starts[instruction]),
                    names_.begin() + static_cast<std::ptrdiff_t>(end));
  }

  const Instructions& run_;
  std::size_t most_;
  std::vector<Float4> names_;  // the run's words, with slots
  std::vector<Use> uses_;
  std::vector<std::size_t> first_;  // of each instruction's uses
  static constexpr std::uint32_t kNoSlot = ~0u;

  std::vector<std::uint32_t> slot_of_;  // by feature
  struct {
    std::vector<std::uint32_t> fresh, kept, spilled, others;
  } room_;  // lists of MakeRoom
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  SlottedInstructions out_;
};

}  // namespace

void Instructions::Append(const Instructions& more) {
  const std::size_t base = words.size();
  words.insert(words.end(), more.words.begin(), more.words.end());
  for (const std::size_t start : more.starts) starts.push_back(base + start);
  for (const std::size_t sum : more.sums) sums.push_back(4 * base + sum);
}

SlottedInstructions AllocateSlots(const Instructions& run, std::uint32_t max_slots) {
  SlottedInstructions out = SlotAllocator(run, max_slots).Run();
  if (out.slot_count > tape::kSlotMask + 1)
    throw std::logic_error("an instruction of too many sums");
  return out;
}

}  // namespace retable::treeshap
