#include "harness/protocol.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

class Nothing final : public Protocol {
 public:
  explicit Nothing(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::string summary() const override { return ""; }
  Names metrics() const override { return {}; }
  Algorithms algorithms() const override { return {}; }
  Datasets resolve(const std::string&) const override { return {}; }
  Outcome measure(const CellConfig&) override { return {}; }

 private:
  std::string name_;
};

TEST(ProtocolRegistration, NamesBothFilesOfANameThatIsTaken) {
  const std::size_t before = Protocols().size();
  // Names stay taken: each repetition of the test has one of its own.
  const std::string name = "toy/nothing " + std::to_string(before);
  const ProtocolRegistration first(std::make_unique<Nothing>(name), "first.cpp");
  try {
    const ProtocolRegistration second(std::make_unique<Nothing>(name));
    FAIL() << "it was taken twice";
  } catch (const std::logic_error& problem) {
    const std::string why = problem.what();
    EXPECT_TRUE(why.starts_with("first.cpp and ")) << why;
    EXPECT_NE(why.find("protocol_test.cpp both register a protocol \"" + name +
                       "\": give one of them another name"),
              why.npos)
        << why;
  }
  EXPECT_EQ(Protocols().size(), before + 1);
}

}  // namespace
}  // namespace retable::harness
