#include "harness/cli/results_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/files/output_paths.hpp"
#include "harness/record/record.hpp"
#include "harness/report/artifact.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace fs = std::filesystem;

void CheckResultsFolder(const std::string& folder) {
  CheckOutputFolder(folder, {"cells", "run.json", "environment.json", "verdicts.csv",
                             "ceilings.json", "noise.json", "gpu-check", "slurm"});
}

void CheckFolderToWrite(const std::string& folder) {
  CheckResultsFolder(folder);
  if (!HasNoCells(folder)) return;
  throw StoreError(folder +
                   " holds recorded results without their cells; nothing is written there, since "
                   "they could not be made again: choose another folder with --out");
}

void CheckHasCells(const std::string& folder) {
  if (!HasNoCells(folder) || HasArchive(folder)) return;
  throw StoreError(folder +
                   ": its cells are not there, and tables are not judged without them: copy it "
                   "again with its cells/, or measure again: build/retable run '*' --out "
                   "results/new. A recording is judged by: build/retable check --recorded NAME");
}

void CheckIsThere(const std::string& folder) {
  if (!fs::is_directory(folder)) throw StoreError(folder + ": there is no such folder");
}

std::string RecordingsToShow(const std::string& root, std::ostream& err) {
  try {
    return ReadableRecordings(root);
  } catch (const std::exception& problem) {
    err << "note: of recordings with an archive only the tables beside it are shown: "
        << problem.what() << "\n";
    return root + "/results/recorded";
  }
}

void CopyResults(const std::string& from, const std::string& to) {
  CheckIsThere(from);
  CheckResultsFolder(to);
  std::error_code error;
  if (fs::exists(to) && !fs::is_empty(to, error)) {
    throw StoreError(to + " is not an empty folder; choose a new one with --to");
  }
  const fs::path source = fs::weakly_canonical(from), target = fs::weakly_canonical(to);
  if (std::mismatch(source.begin(), source.end(), target.begin(), target.end()).first ==
      source.end()) {
    throw StoreError(to + " is inside of " + from + "; choose a folder beside it with --to");
  }
  CheckWritable(to);
  fs::copy(from, to, fs::copy_options::recursive, error);
  fs::remove(fs::path(to) / ".lock");
  if (error) throw StoreError(to + ": cannot copy " + from + " to it: " + error.message());
}

}  // namespace retable::harness
