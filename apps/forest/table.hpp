#pragma once
//! @file
//! The rows that a forest learns from or answers, of a file or of a catalogued data set. The
//! columns of an array (.npy) are called 0, 1, ...; they meet a model's features by position.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/common/forest_bytes.hpp"
#include "algorithms/extratrees/model/forest.hpp"

namespace retable::experiments::forests {

//! Which columns are what. Names are exact.
struct TableRequest {
  std::string target;        //!< a column's name
  bool last_target = false;  //!< without a name, the target is the last column
  std::string labels;        //!< an array's file that has the targets, in place of a column
  std::string weights;       //!< a column's name, or empty: no weights
  //! The model's features, found by name; empty: all columns that are nothing else.
  std::vector<TrainedFeature> features;
  std::size_t count = 0;  //!< features of a model without names; 0: any number
};

//! Features, and where there are any, targets and weights.
struct Table {
  std::string data;           //!< the file or data set
  std::string labels;         //!< the targets' own file, if they have one
  bool array = false;         //!< the data have no names
  std::vector<float> values;  //!< row-major, rows x features
  std::size_t rows = 0;
  std::vector<TrainedFeature> features;
  std::vector<std::string> target;   //!< as text; empty: missing
  std::vector<double> weights;       //!< NaN: missing
  std::vector<std::int64_t> lines;   //!< a CSV file's line of each row
  std::vector<std::string> ignored;  //!< columns that the model does not know
  std::vector<std::string> rounded;  //!< columns with whole numbers or dates that floats round

  extratrees::FeatureMatrix matrix() const { return {values.data(), rows, features.size()}; }
  //! "t.csv:3" or "iris: row 2", for messages.
  std::string Where(std::size_t row) const;
  std::string WhereTarget(std::size_t row) const;
};

bool IsCatalogued(const std::string& data);

//! Reads an .arff, a .csv or an .npy file or a catalogued data set.
//! Levels of the model's features are found by their text. Where the model has numbers and the data
//! have levels, or the other way round, levels that are numbers stand for them.
//! @throws std::invalid_argument, CsvError or ParseError naming the file and what is wrong: a
//! column that is not there, a level that the model does not know, words where numbers were learnt
Table ReadTable(const std::string& data, const TableRequest& request);

//! The number that a class's name says; none from 2^53 on, where two whole numbers may be one.
std::optional<double> ClassNumber(const std::string& name);

//! Whether two names are one class: the same text, or two numbers that are equal.
bool SameClass(const std::string& a, const std::string& b);

}  // namespace retable::experiments::forests
