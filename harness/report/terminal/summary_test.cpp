#include "harness/report/terminal/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace retable::harness {
namespace {

TEST(Summary, IsFourLines) {
  Scoreboard board;
  board.verdicts = {{"MATCH", 600}, {"TREND", 100},        {"MISMATCH", 1},
                    {"FAILED", 0},  {"DIFFERENT-HW", 400}, {"NOT-RUN", 199}};
  board.claims = {{"HOLDS", 12}, {"FAILS", 3}, {"NO-DATA", 2}, {"UNSTEADY", 4}};
  board.lacks["a CUDA device"].cells = 150;
  board.lacks["data"] = {49, {"adult", "letter"}};
  const std::string text = SummaryText(board, "results/my run", "/x/report.html");
  EXPECT_EQ(text,
            "verdicts  [##################===x..................] 600 MATCH, 100 TREND, 0 "
            "ORDER-ONLY, 1 MISMATCH, 0 FAILED, 599 not judged, of 1,300 published cells (400 times "
            "of other hardware)\n"
            "claims    12 hold, 3 fail, 4 read times that are not steady, 2 lack data, of 21\n"
            "missing   150 need a CUDA device, 49 need data; for 150: make reproduce "
            "PROFILE=paper, on a machine with an NVIDIA GPU\n"
            "report    /x/report.html\n");
}

TEST(Summary, NamesTheOneCommandThatBringsMost) {
  Scoreboard board;
  board.lacks["something else"].cells = 9;
  board.lacks["data"] = {8, {"adult", "letter"}};
  board.lacks["the paper profile"].cells = 7;
  const std::string text = SummaryText(board, "results/my run", "");
  EXPECT_NE(text.find("for 8: build/retable datasets fetch adult letter\n"), text.npos) << text;
  EXPECT_NE(text.find("build/retable report --out 'results/my run'\n"), text.npos) << text;
  board.lacks.erase("data");
  EXPECT_NE(SummaryText(board, "x", "").find("for 7: make reproduce PROFILE=paper\n"), text.npos);
  EXPECT_EQ(std::ranges::count(SummaryText({}, "x", ""), '\n'), 4);
}

TEST(Summary, SmokeSaysThatNothingIsJudged) {
  Scoreboard board;
  board.verdicts = {{"NOT-JUDGED", 30}};
  board.claims = {{"NOT-JUDGED", 5}};
  const std::string text = SummaryText(board, "x", "");
  EXPECT_NE(text.find("30 not judged, of 30 published cells (30 at sizes too small to judge)"),
            text.npos)
      << text;
  EXPECT_NE(text.find("0 hold, 0 fail, 5 are at sizes too small to judge, of 5"), text.npos);
  EXPECT_NE(ScoreboardText(board).find("NOT-JUDGED       30"), text.npos) << ScoreboardText(board);
  EXPECT_FALSE(board.FailsStrictly());
}

TEST(Summary, WhatIsMeasuredInPartIsCountedApart) {
  Scoreboard board;
  board.verdicts = {{"NOT-JUDGED", 5}, {"DIFFERENT-HW", 2}};
  board.partial = 5;
  const std::string text = SummaryText(board, "x", "");
  EXPECT_NE(text.find("(5 measured in part, 2 times of other hardware)"), text.npos) << text;
}

TEST(Summary, NotRunIsFollowedByItsReasons) {
  Scoreboard board;
  board.verdicts["NOT-RUN"] = 12;
  board.lacks["a CUDA device"].cells = 12;
  EXPECT_NE(ScoreboardText(board).find("NOT-RUN          12  (12 need a CUDA device)"),
            std::string::npos)
      << ScoreboardText(board);
}

}  // namespace
}  // namespace retable::harness
