#include "harness/machine/activity.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/atomic_file.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/report/csv.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

constexpr double kBusyShare = 0.1;
// Threads that wait for each other all wait for the one whose processor another process takes.
constexpr double kBusyBesideThreads = 0.5;
constexpr double kShortest = 0.25;  // seconds: the counters advance in hundredths
constexpr std::size_t kNamed = 3;

double OwnSeconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    }
  }
  return seconds;
}

// One character a processor: '1' where this process may use it.
std::string AllowedMask() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return "";
  std::string mask(CPU_SETSIZE, '0');
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<unsigned>(i), &allowed)) mask[static_cast<std::size_t>(i)] = '1';
  }
  return mask;
}

std::int64_t HeatSlowdowns(const std::string& mask) {
  double count = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != '1') continue;
    const std::string text = ReadOrEmpty(
        fmt::format("/sys/devices/system/cpu/cpu{}/thermal_throttle/core_throttle_count", i));
    if (text.empty()) break;  // not told by this machine
    count += ParseNumber(text.substr(0, text.find('\n'))).value_or(0);
  }
  return static_cast<std::int64_t>(count);
}

// Ticks of each other process and its name.
std::map<int, std::pair<double, std::string>> ProcessTicks() {
  std::map<int, std::pair<double, std::string>> ticks;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const int id = std::atoi(entry.path().filename().c_str());
    if (id <= 0 || id == getpid()) continue;
    const std::string stat = ReadOrEmpty(entry.path().string() + "/stat");
    const std::size_t open = stat.find('('), close = stat.rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    std::istringstream rest(stat.substr(close + 1));
    std::string skipped;
    for (int i = 0; i < 11; ++i) rest >> skipped;  // state ... cmajflt
    double user = 0, system = 0;
    rest >> user >> system;
    ticks[id] = {user + system, stat.substr(open + 1, close - open - 1)};
  }
  return ticks;
}

// Tests have a machine of their own: quiet, or with so many processors' worth of others as the file
// RETABLE_SELFTEST_BUSY says.
void Pretend(Activity& activity) {
  if (std::getenv("RETABLE_SELFTEST") == nullptr) return;
  const char* path = std::getenv("RETABLE_SELFTEST_BUSY");
  activity.seconds = std::max(activity.seconds, kShortest);
  activity.others = path == nullptr ? 0 : ParseNumber(ReadOrEmpty(path)).value_or(0);
  activity.throttled = 0;
  activity.busiest = activity.others > 0 ? "selftest" : "";
}

}  // namespace

double BusyTicks(std::string_view stat, const std::string& processors) {
  double busy = 0;
  std::istringstream lines{std::string(stat)};
  for (std::string line; std::getline(lines, line);) {
    std::size_t number = 0;
    if (!line.starts_with("cpu") ||
        std::from_chars(line.data() + 3, line.data() + line.size(), number).ec != std::errc{} ||
        number >= processors.size() || processors[number] != '1') {
      continue;
    }
    // user nice system idle iowait irq softirq steal; guests are counted under user.
    std::istringstream fields(line.substr(line.find(' ')));
    double value = 0;
    for (int i = 0; i < 8 && fields >> value; ++i) {
      if (i != 3 && i != 4) busy += value;
    }
  }
  return busy;
}

ActivityReading ReadActivity() {
  const std::string mask = AllowedMask();
  ActivityReading reading;
  reading.busy = BusyTicks(ReadOrEmpty("/proc/stat"), mask) /
                 static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
  reading.own = OwnSeconds();
  reading.throttled = HeatSlowdowns(mask);
  reading.processors = AllowedProcessors();
  reading.wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return reading;
}

bool Activity::Busy(bool threads) const {
  const double share = kBusyShare * processors;
  const double most = threads ? std::min(share, kBusyBesideThreads) : share;
  return seconds >= kShortest && (others > most || throttled > 0);
}

std::string Activity::Text() const {
  std::string text =
      fmt::format("other processes took {:.1f} of {} processor{}{}", others, processors,
                  processors == 1 ? "" : "s", busiest.empty() ? "" : " (" + busiest + ")");
  if (throttled > 0) text += fmt::format(", processors were slowed for heat {} times", throttled);
  return text;
}

Activity ActivityBetween(const ActivityReading& begin, const ActivityReading& end) {
  Activity activity;
  activity.seconds = end.wall - begin.wall;
  activity.processors = end.processors;
  activity.throttled = end.throttled - begin.throttled;
  if (activity.seconds > 0) {
    const double others = (end.busy - begin.busy) - (end.own - begin.own);
    activity.others =
        std::clamp(others / activity.seconds, 0.0, static_cast<double>(end.processors));
  }
  Pretend(activity);
  return activity;
}

Activity WatchActivity(double seconds) {
  if (std::getenv("RETABLE_SELFTEST") != nullptr) seconds = std::min(seconds, 0.01);
  const auto before = ProcessTicks();
  const ActivityReading begin = ReadActivity();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const ActivityReading end = ReadActivity();
  Activity activity = ActivityBetween(begin, end);
  if (!activity.Busy() || !activity.busiest.empty()) return activity;
  std::map<std::string, double> by_name;
  for (const auto& [id, now] : ProcessTicks()) {
    const auto then = before.find(id);
    const double ticks = now.first - (then == before.end() ? 0 : then->second.first);
    if (ticks > 0) by_name[now.second] += ticks;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, ticks] : by_name) order.emplace_back(ticks, name);
  std::sort(order.rbegin(), order.rend());
  for (std::size_t i = 0; i < std::min(order.size(), kNamed); ++i) {
    activity.busiest += (i == 0 ? "" : ", ") + order[i].second;
  }
  return activity;
}

}  // namespace retable::harness
