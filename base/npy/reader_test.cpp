#include "base/npy/reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "base/fuzz/replay_testing.hpp"
#include "base/npy/fuzz/fuzz_body.hpp"
#include "base/npy/writer.hpp"
#include "base/temporary_folder.hpp"

namespace retable {
namespace {

// The file that numpy.save writes: a header padded to 64 bytes.
template <class T>
std::string Saved(const std::string& type, const std::string& shape, const std::vector<T>& items,
                  bool fortran = false, int version = 1) {
  std::string text = "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
                     ", 'shape': " + shape + ", }";
  const std::size_t before = version == 1 ? 10 : 12;
  while ((before + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t i = 0; i < before - 8; ++i) {
    file += static_cast<char>(static_cast<unsigned char>(text.size() >> (8 * i)));
  }
  file += text;
  file.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
  return file;
}

NpyMatrix Open(const std::string& bytes) {
  return NpyMatrix(std::make_unique<std::istringstream>(bytes), "x.npy");
}

std::vector<double> All(NpyMatrix matrix) {
  std::vector<double> values(matrix.rows() * matrix.columns());
  matrix.Read(0, matrix.rows(), values.data());
  return values;
}

std::string Refusal(const std::string& bytes) {
  try {
    Open(bytes);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "taken";
}

template <class T>
void ReadsType(const std::string& type) {
  const T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
  const std::vector<double> want = {static_cast<double>(least), 0, 1, static_cast<double>(most)};
  EXPECT_EQ(All(Open(Saved<T>(type, "(2, 2)", {least, T(0), T(1), most}))), want) << type;
}

TEST(NpyMatrix, ReadsAllTypes) {
  ReadsType<float>("<f4");
  ReadsType<double>("<f8");
  ReadsType<std::int8_t>("|i1");
  ReadsType<std::int16_t>("<i2");
  ReadsType<std::int32_t>("<i4");
  ReadsType<std::int64_t>("<i8");
  ReadsType<std::uint8_t>("|u1");
  ReadsType<std::uint16_t>("<u2");
  ReadsType<std::uint32_t>("<u4");
  ReadsType<std::uint64_t>("<u8");
  EXPECT_EQ(All(Open(Saved<char>("|b1", "(2,)", {0, 1}))), (std::vector<double>{0, 1}));
  EXPECT_TRUE(std::isnan(All(Open(Saved<float>("<f4", "(1,)", {std::nanf("")})))[0]));
  EXPECT_TRUE(Open(Saved<std::int64_t>("<i8", "(1,)", {1})).wide_integers());
  EXPECT_FALSE(Open(Saved<double>("<f8", "(1,)", {1})).wide_integers());
}

TEST(NpyMatrix, ReadsEveryOrderVersionAndShape) {
  const std::vector<double> rows = {1, 2, 3, 4, 5, 6}, columns = {1, 4, 2, 5, 3, 6};
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(All(Open(Saved("<f8", "(2, 3)", rows, false, version))), rows);
    EXPECT_EQ(All(Open(Saved("<f8", "(2, 3)", columns, true, version))), rows);
  }
  for (const bool fortran : {false, true}) {
    NpyMatrix matrix = Open(Saved("<f8", "(2, 3)", fortran ? columns : rows, fortran));
    std::vector<double> second(3);
    matrix.Read(1, 1, second.data());
    EXPECT_EQ(second, (std::vector<double>{4, 5, 6}));
  }
  NpyMatrix list = Open(Saved("<f8", "(6,)", rows));
  EXPECT_EQ(list.rows(), 6u);
  EXPECT_EQ(list.columns(), 1u);
  EXPECT_EQ(Open(Saved<double>("<f8", "(0, 3)", {})).rows(), 0u);
  EXPECT_EQ(All(Open(Saved("<f8", "(2L, 3L)", rows))), rows);
}

TEST(NpyMatrix, RefusesOtherArraysWithTheRemedy) {
  const std::vector<double> two = {1, 2};
  const auto refused = [&](const std::string& type, const std::string& shape,
                           const std::string& what) {
    const std::string said = Refusal(Saved(type, shape, two));
    EXPECT_NE(said.find(what), std::string::npos) << said;
    EXPECT_EQ(said.rfind("x.npy: ", 0), 0u) << said;
  };
  refused("|O", "(2,)", "Python objects, which only Python can read: save x.astype('float64')");
  refused(">f8", "(2,)", "items of type '>f8' are not read: save x.astype('<f8')");
  refused("<f2", "(8,)", "'<f2'");
  refused("<c16", "(1,)", "'<c16'");
  refused("<U2", "(2,)", "numpy.unique");
  refused("<M8[s]", "(2,)", "'<M8[s]'");
  refused("<f8", "()", "0 dimensions");
  refused("<f8", "(1, 1, 2)", "3 dimensions");
  refused("<f8", "(2, 0)", "without columns");
  refused("<f8", "(3,)", "16 bytes of values, where its header announces 3 x 1 of 8 bytes");
  refused("<f8", "(1,)", "16 bytes of values");
  refused("<f4", "(3,)", "16 bytes of values");
  refused("<f8", "(9223372036854775807, 2)", "16 bytes of values");
  refused("<f8", "(99999999999999999999,)", "header is damaged");
  refused("<f8", "(-2,)", "header is damaged");
  refused("<f8", "(2", "header is damaged");
  refused("<f8'", "(2,)", "header is damaged");
  std::string fields = Saved("<f8", "(2,)", two);
  fields.replace(fields.find("'<f8'"), 5, "[('a'");
  EXPECT_NE(Refusal(fields).find("several fields"), std::string::npos);
  EXPECT_NE(Refusal("").find("numpy.save"), std::string::npos);
  EXPECT_NE(Refusal("a,b\n1,2\n3,4\n").find("numpy.save"), std::string::npos);
  EXPECT_NE(Refusal(Saved("<f8", "(2,)", two).substr(0, 40)).find("within its header"),
            std::string::npos);
  std::string late = Saved("<f8", "(2,)", two);
  late[6] = 4;
  EXPECT_NE(Refusal(late).find("version 4"), std::string::npos);
}

TEST(NpyMatrix, ReadsFilesAndSaysWhatIsWrongWithThem) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "x.npy").string();
  EXPECT_THROW(NpyMatrix{path}, std::runtime_error);
  EXPECT_THROW(NpyMatrix{folder.path().string()}, std::runtime_error);
  std::ofstream(path, std::ios::binary) << NpyText<std::int64_t>({3, -4}, {2});
  EXPECT_EQ(All(NpyMatrix(path)), (std::vector<double>{3, -4}));
  NpyMatrix matrix(path);
  std::filesystem::resize_file(path, 192 + 8);
  std::vector<double> values(2);
  EXPECT_THROW(matrix.Read(0, 2, values.data()), std::runtime_error);
}

TEST(NpyWriter, HeadersAreOfOneLengthAndReadBack) {
  for (const std::vector<std::size_t>& shape : std::vector<std::vector<std::size_t>>{
           {4}, {2, 2}, {~std::size_t{0}, ~std::size_t{0}, 1, ~std::size_t{0}}}) {
    EXPECT_EQ(NpyHeader("<f4", shape).size(), 192u);
  }
  EXPECT_EQ(All(Open(NpyText<float>({1, 2, 3, 4.5}, {2, 2}))), (std::vector<double>{1, 2, 3, 4.5}));
  EXPECT_EQ(NpyHeader("<f4", {5, 2}).substr(10, 63),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 2, ), }  ");
}

TEST(NpyFuzzReplay, CorpusAndMutations) {
  const auto corpus = fuzzing::Corpus(RETABLE_SOURCE_DIR "/base/npy/fuzz/corpus");
  ASSERT_GE(corpus.size(), 6u);
  EXPECT_GE(fuzzing::Replay(corpus, 0, FuzzNpy, fuzzing::MutateText), 5u);
  EXPECT_GE(fuzzing::Replay(corpus, 20000, FuzzNpy, fuzzing::MutateText), 500u);
}

}  // namespace
}  // namespace retable
