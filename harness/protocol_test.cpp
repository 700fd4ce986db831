#include "harness/protocol.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

class Nothing final : public Protocol {
 public:
  std::string name() const override { return "toy/nothing"; }
  std::string summary() const override { return ""; }
  Names metrics() const override { return {}; }
  Algorithms algorithms() const override { return {}; }
  Datasets resolve(const std::string&) const override { return {}; }
  Outcome measure(const CellConfig&) override { return {}; }
};

TEST(ProtocolRegistration, NamesBothFilesOfANameThatIsTaken) {
  const std::size_t before = Protocols().size();
  const ProtocolRegistration first(std::make_unique<Nothing>(), "first.cpp");
  try {
    const ProtocolRegistration second(std::make_unique<Nothing>());
    FAIL() << "it was taken twice";
  } catch (const std::logic_error& problem) {
    const std::string why = problem.what();
    EXPECT_TRUE(why.starts_with("first.cpp and ")) << why;
    EXPECT_NE(why.find("protocol_test.cpp both register a protocol \"toy/nothing\": give one of "
                       "them another name"),
              why.npos)
        << why;
  }
  EXPECT_EQ(Protocols().size(), before + 1);
  Protocols().pop_back();
}

}  // namespace
}  // namespace retable::harness
