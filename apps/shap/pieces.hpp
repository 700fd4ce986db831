#pragma once
//! @file
//! A result in pieces, each a file beside the output, until all are there and become the output.
//!
//! Problem: several processes, on machines that share a folder alone, make one file; each may be
//! killed at any moment, be started again, or do what another does. Approach: a piece is written
//! atomically under a name that holds its number and a hash of all that decides its bytes (the
//! description). So a piece that is there need not be made again, whoever made it, and pieces of
//! different calls never mix. Whoever finds all pieces joins them; where two do, they write the
//! same bytes. A lock only spares the second its work, since network folders may have none.
//! OUT.about.json, written behind the output and before the pieces go, tells a process that comes
//! late that all is done.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/atomic_file.hpp"

namespace retable::experiments::treeshap {

//! Name, size and time of change. @throws std::invalid_argument where it is no regular file
nlohmann::ordered_json FileStamp(const std::string& path);

class ResultPieces {
 public:
  //! Opens OUT.parts, or makes it, unless the result is complete.
  //! @param about the description; "data" is the stamp of `data`
  //! @throws OutputRefused where pieces of another description are there, or `out` is no place for
  //! a file; FileError
  ResultPieces(const std::string& out, const std::string& data, nlohmann::ordered_json about);

  //! The file beside a finished result that tells what made it.
  static std::filesystem::path AboutFile(const std::string& out);

  //! @throws OutputRefused where OUT.parts is there, for a call that does not look into it
  static void RefuseOthers(const std::string& out);

  //! Whether the output is there, of this description, and as it was written.
  bool complete() const;
  bool Has(std::size_t piece) const;
  //! Keeps what `write` writes. @return false: the result is complete, by another process
  //! @throws FileError, and std::runtime_error where the data file changed meanwhile
  bool Save(std::size_t piece, const std::function<void(AtomicFile&)>& write) const;
  //! Makes the output of `start` and so many pieces, and removes them. Does nothing while some are
  //! missing. @return how many are @throws FileError; the pieces stay
  std::size_t Join(std::size_t pieces, std::string_view start) const;

 private:
  std::filesystem::path Piece(std::size_t piece) const;
  std::string TextOfComplete() const;
  void RequireSame() const;
  void WriteResult(std::size_t pieces, std::string_view start) const;
  void Remove() const;

  std::string out_, data_;
  nlohmann::ordered_json about_;
  std::filesystem::path folder_;
  std::string key_;
};

}  // namespace retable::experiments::treeshap
