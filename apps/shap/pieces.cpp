#include "apps/shap/pieces.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/files/output_paths.hpp"
#include "base/sha256.hpp"
#include "harness/plan/value_json.hpp"

namespace retable::experiments::treeshap {
namespace {

namespace fs = std::filesystem;

fs::path FolderBeside(const std::string& out) {
  return out + ".parts";
}

// What two descriptions differ in, a phrase each.
std::string Differences(const nlohmann::ordered_json& then, const nlohmann::ordered_json& now) {
  std::string text;
  for (const auto& [name, value] : now.items()) {
    const bool known = then.is_object() && then.contains(name);
    if (known && then.at(name) == value) continue;
    text += fmt::format("{}{} was {} and is {}", text.empty() ? "" : "; ", name,
                        known ? harness::JsonText(then.at(name)) : "not told",
                        harness::JsonText(value));
  }
  return text;
}

}  // namespace

fs::path ResultPieces::AboutFile(const std::string& out) {
  return out + ".about.json";
}

nlohmann::ordered_json FileStamp(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    throw std::invalid_argument(path + " is no file; --shard and --resume read a file again");
  }
  return {{"name", fs::path(path).filename().string()},
          {"bytes", found.st_size},
          {"changed", fmt::format("{}.{:09}", found.st_mtim.tv_sec, found.st_mtim.tv_nsec)}};
}

ResultPieces::ResultPieces(const std::string& out, const std::string& data,
                           nlohmann::ordered_json about)
    : out_(out),
      data_(data),
      about_(std::move(about)),
      folder_(FolderBeside(out)),
      key_(Sha256(harness::JsonText(about_)).substr(0, 16)) {
  std::error_code ignored;
  if (fs::exists(out_, ignored) && !fs::is_regular_file(out_, ignored)) {
    throw OutputRefused(out_ + " is no file; --shard and --resume make one");
  }
  const fs::path beside = AboutFile(out_);
  const std::string text = ReadOrEmpty(beside);
  const auto then = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!text.empty() && !(then.is_object() && then.contains("result") && then.contains("data"))) {
    throw OutputRefused(beside.string() +
                        " is no description of a result, and would be overwritten; move it away");
  }
  if (complete()) return;
  MakeFolder(folder_);
  RequireSame();
  const fs::path description = folder_ / (key_ + ".json");
  if (!fs::exists(description, ignored)) {
    WriteAtomically(description, harness::JsonText(about_, 2) + "\n");
  }
}

void ResultPieces::RequireSame() const {
  std::error_code error;
  for (fs::directory_iterator file(folder_, error), end; !error && file != end;
       file.increment(error)) {
    const fs::path& path = file->path();
    if (path.extension() != ".json" || path.stem() == key_) continue;
    const auto then = nlohmann::ordered_json::parse(ReadOrEmpty(path), nullptr, false);
    throw OutputRefused(fmt::format(
        "{} holds pieces of another call: {}; call it as then to go on with them, or remove the "
        "folder to begin anew",
        folder_.string(), Differences(then, about_)));
  }
}

void ResultPieces::RefuseOthers(const std::string& out) {
  std::error_code ignored;
  const fs::path folder = FolderBeside(out);
  if (out.empty() || !fs::is_directory(folder, ignored) || fs::is_empty(folder, ignored)) return;
  throw OutputRefused(folder.string() +
                      " holds pieces of this result; go on with them by --resume, or remove the "
                      "folder to begin anew");
}

std::string ResultPieces::TextOfComplete() const {
  nlohmann::ordered_json about = about_;
  about["result"] = FileStamp(out_);
  return harness::JsonText(about, 2) + "\n";
}

bool ResultPieces::complete() const {
  std::error_code ignored;
  return fs::is_regular_file(out_, ignored) && ReadOrEmpty(AboutFile(out_)) == TextOfComplete();
}

fs::path ResultPieces::Piece(std::size_t piece) const {
  return folder_ / fmt::format("{}-{:08}", key_, piece);
}

bool ResultPieces::Has(std::size_t piece) const {
  std::error_code ignored;
  return fs::exists(Piece(piece), ignored);
}

bool ResultPieces::Save(std::size_t piece, const std::function<void(AtomicFile&)>& write) const {
  if (complete()) return false;
  AtomicFile file(Piece(piece));
  write(file);
  if (FileStamp(data_) != about_.at("data")) {
    throw std::runtime_error(data_ + " changed while it was read; remove " + folder_.string() +
                             " to begin anew");
  }
  try {
    file.Commit();
  } catch (const FileError&) {
    if (!complete()) throw;
    return false;  // the folder is gone
  }
  return true;
}

std::size_t ResultPieces::Join(std::size_t pieces, std::string_view start) const {
  std::size_t missing = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) missing += Has(piece) ? 0 : 1;
  if (!complete()) {
    if (missing > 0) return missing;
    const FileLock lock(folder_ / (key_ + ".lock"));
    try {
      if (!complete()) WriteResult(pieces, start);
    } catch (const std::runtime_error&) {
      if (!complete()) throw;  // else another process joined and removed them
    }
    // Another one may write the same bytes again: then the file is younger than what was noted.
    while (!complete()) WriteAtomically(AboutFile(out_), TextOfComplete());
  }
  Remove();
  return 0;
}

void ResultPieces::WriteResult(std::size_t pieces, std::string_view start) const {
  AtomicFile file(out_);
  file.Write(start);
  for (std::size_t piece = 0; piece < pieces; ++piece) file.Write(ReadWhole(Piece(piece)));
  file.Commit();
}

void ResultPieces::Remove() const {
  std::error_code error;
  for (fs::directory_iterator file(folder_, error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    if (file->path().filename().string().starts_with(key_)) fs::remove(file->path(), gone);
  }
  fs::remove(folder_, error);  // others' files stay
}

}  // namespace retable::experiments::treeshap
