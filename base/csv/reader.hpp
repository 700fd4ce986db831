#pragma once
//! @file
//! Comma-separated values by RFC 4180: the one dialect in which all verbs read tables.
//!
//! Problem: files larger than memory, parsed by many threads, in which a comma, a quote or a line
//! end may be part of a field. Approach: one thread cuts the file into records (CsvRecords), which
//! needs to look at quotes alone; any number of threads then cut records into fields (CsvFields).
//! O(bytes); a record without quotes is searched by memchr and not copied.
//!
//! The dialect: UTF-8, with or without a byte-order mark, and nothing else; a header line; records
//! end with LF or CRLF; a field is what stands between two commas, blanks included; one that begins
//! with a quote ends with one, a quote inside it is doubled, and commas, line feeds and carriage
//! returns inside are its own. Lines that are empty or blank are passed over, but refused where a
//! table of one column goes on behind them. '#' begins no comment unless it is asked for. Missing
//! values and numbers: base/csv/number.hpp. What breaks a rule is an error that says file:line.

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retable {

//! What is wrong with a CSV file; what() begins "file:line: ".
class CsvError : public std::runtime_error {
 public:
  CsvError(const std::string& file, std::int64_t line, const std::string& what)
      : std::runtime_error(file + ":" + std::to_string(line) + ": " + what) {}
  explicit CsvError(const std::string& what) : std::runtime_error(what) {}
};

struct CsvDialect {
  bool comments = false;     //!< lines that begin with '#' are passed over
  bool quotes = true;        //!< false: a record is a line, whatever it contains
  bool blank_lines = false;  //!< blank lines are records
  bool utf8 = true;          //!< false: any bytes, and a byte-order mark is some of them
};

//! A record as it stands in the file.
struct CsvRecord {
  std::string_view text;  //!< without its line end
  std::string_view end;   //!< its line end: "\n", "\r\n", or nothing at the end of the file
  std::int64_t line = 0;  //!< its first line, from 1
};

//! Records and the memory that they point to. Moving it keeps them valid.
struct CsvBlock {
  std::vector<CsvRecord> records;
  std::vector<char> bytes;
};

//! Text in memory, and the name under which errors speak of it.
struct CsvText {
  std::string_view text;
  std::string file;
};

//! The records of a file, one after the other; memory: a block of 1 MiB, or the longest record.
class CsvRecords {
 public:
  //! @throws CsvError when the file cannot be read, is compressed, or is UTF-16
  explicit CsvRecords(const std::string& path, CsvDialect dialect = {});
  //! The text must outlive the records.
  explicit CsvRecords(CsvText text, CsvDialect dialect = {});
  CsvRecords(const CsvRecords&) = delete;
  CsvRecords& operator=(const CsvRecords&) = delete;

  //! The next record, valid until the next call; false at the end.
  //! @throws CsvError for a quote that stays open, bytes that are no UTF-8, and failed reading
  bool Next(CsvRecord& record);
  //! Up to `count` records, with their bytes; false when there are none left. @throws CsvError
  bool Next(CsvBlock& block, std::size_t count);
  //! From here on a blank line with a record behind it is an error: in a table of one column it may
  //! be a missing value.
  void RefuseBlankLines() { refuses_blank_ = true; }
  //! Fraction of the file's bytes read so far, in [0, 1].
  double done() const;
  const std::string& file() const { return file_; }

 private:
  void CheckStart();
  bool Fill();
  bool Find(std::size_t at, std::size_t& found);
  std::size_t RecordLength();
  void CheckText(const CsvRecord& record) const;

  std::string file_;
  CsvDialect dialect_;
  std::ifstream stream_;
  std::vector<char> buffer_;
  std::string_view rest_;  // bytes not given out yet
  std::int64_t line_ = 1;  // of the first of them
  std::int64_t bytes_ = 0, read_ = 0;
  bool refuses_blank_ = false;
};

//! A record's fields. One object for many records saves its memory.
class CsvFields {
 public:
  //! @param file for errors. The fields are valid until the next call and as long as the record's
  //! text. @throws CsvError for a quote or a carriage return out of place
  void Split(const CsvRecord& record, const std::string& file);
  std::size_t size() const { return fields_.size(); }
  std::string_view operator[](std::size_t i) const { return fields_[i]; }
  std::vector<std::string_view>::const_iterator begin() const { return fields_.begin(); }
  std::vector<std::string_view>::const_iterator end() const { return fields_.end(); }

 private:
  std::vector<std::string_view> fields_;
  std::string unquoted_;
};

//! The number in a field, NaN where it is missing. @param where "file:line" @throws CsvError,
//! naming place and column, for a word, and for a number that a double cannot hold
double CsvNumber(std::string_view field, const std::string& where, const std::string& column);

//! The columns' names, and what every record is held against. Many threads may use one.
struct CsvHeader {
  std::string file;
  std::vector<std::string> names;
  std::int64_t line = 1;

  CsvHeader() = default;
  //! Takes the first record. @throws CsvError when there is none, when a name occurs twice, and
  //! when it looks like a row: all names are numbers that do not count the columns (from 0 or 1),
  //! or most are numbers and one has a fraction. With all `known` names in it, it is a header
  explicit CsvHeader(CsvRecords& records, std::span<const std::string> known = {});
  //! The record's fields, as many as there are names. @throws CsvError
  void Split(const CsvRecord& record, CsvFields& fields) const;
  //! The number in a column's field, as CsvNumber has it. @throws CsvError
  double Number(const CsvRecord& record, std::string_view field, std::size_t column) const;
  //! The same as a float, where tables are float32: what is beyond it is an error too.
  float Float(const CsvRecord& record, std::string_view field, std::size_t column) const;
};

}  // namespace retable
