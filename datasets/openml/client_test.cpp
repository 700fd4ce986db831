//! Against a server that misbehaves: whatever it does, a data set is in the cache whole or not at
//! all, and the message says what happened.

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "datasets/openml/cache.hpp"
#include "datasets/openml/fetch.hpp"
#include "datasets/openml/gzip.hpp"
#include "datasets/openml/http.hpp"
#include "datasets/openml/test_mirror.hpp"

namespace retable::datasets {
namespace {

namespace fs = std::filesystem;
using Kind = FetchError::Kind;

//! Impatient options, so that tests are quick.
ServerOptions Quick(const std::string& base) {
  ServerOptions options;
  options.base = base;
  options.own_base = true;
  options.connect_timeout = 2;
  options.stall_timeout = 1;
  options.retries = 3;
  options.back_off = 0.01;
  return options;
}

class OpenMlClient : public testing::Test {
 protected:
  OpenMlClient() : cache(folder.path()) {
    OpenMlServer::ForgetDeadNetworks();
    openml.Add(7);
  }

  //! Starts a server which answers as SmallOpenMl but for `path`, which `misbehave` answers.
  void Serve(const std::string& path, TestServer::Handler misbehave) {
    server.emplace([this, path, misbehave](const TestRequest& request, TestConnection& connection) {
      if (request.path == path)
        misbehave(request, connection);
      else
        openml.Answer(request, connection);
    });
    client.emplace(Quick(server->base()));
  }
  void Serve() {
    Serve("", [](const TestRequest&, TestConnection&) {});
  }

  CacheRecord Fetch(int id = 7) { return cache.Fetch(*client, id, {}); }

  //! The fetch must fail in this way, and leave nothing but parts and rejected bodies.
  std::string ExpectFailure(Kind kind, int id = 7) {
    try {
      Fetch(id);
      ADD_FAILURE() << "no error";
    } catch (const FetchError& error) {
      EXPECT_EQ(static_cast<int>(error.kind), static_cast<int>(kind)) << error.what();
      EXPECT_FALSE(cache.Find(id).has_value());
      EXPECT_FALSE(fs::exists(folder.path() / "openml"));
      EXPECT_FALSE(fs::exists(folder.path() / "frames"));
      EXPECT_FALSE(fs::exists(folder.path() / "records"));
      return error.what();
    }
    return "";
  }

  std::size_t Rejected() const {
    std::error_code none;
    return static_cast<std::size_t>(std::distance(
        fs::directory_iterator(folder.path() / "rejected", none), fs::directory_iterator()));
  }

  void ExpectWhole(const CacheRecord& record) {
    EXPECT_EQ(record.rows, 3);
    EXPECT_EQ(record.columns, 1);
    const Frame frame = cache.Load(record);
    ASSERT_EQ(frame.columns.size(), 1u);
    EXPECT_EQ(frame.columns[0].values[1], 1.5f);
    EXPECT_EQ(frame.target->levels[1], "b");
    EXPECT_TRUE(cache.Verify(record).ok);
    EXPECT_TRUE(!fs::exists(folder.path() / "partial") || fs::is_empty(folder.path() / "partial"));
  }

  TemporaryFolder folder;
  Cache cache;
  SmallOpenMl openml;
  std::optional<TestServer> server;
  std::optional<OpenMlServer> client;
};

const std::string kFile = SmallOpenMl::FilePath(7);
const std::string kDescription = SmallOpenMl::DescriptionPath(7);
const std::string kText = SmallOpenMl::kArff;

TEST_F(OpenMlClient, FetchesFromAGoodServerOverOneConnection) {
  Serve();
  const CacheRecord record = Fetch();
  ExpectWhole(record);
  EXPECT_EQ(record.md5, Md5(kText));
  EXPECT_EQ(record.sha256, Sha256(kText));
  EXPECT_EQ(record.attributes, 3);
  EXPECT_EQ(server->connections(), 1);
  EXPECT_EQ(server->requests().size(), 3u);
  // The second time nothing is asked.
  Fetch();
  EXPECT_EQ(server->requests().size(), 3u);
}

TEST_F(OpenMlClient, GzipIsToldByItsFirstBytes) {
  openml.Add(7, GzipCompress(kText), Md5(kText));
  openml.bodies[kDescription] = GzipCompress(openml.bodies[kDescription]);
  Serve();
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, Md5OfTheCompressedFileIsGoodToo) {
  openml.Add(7, GzipCompress(kText));
  Serve();
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, AtMostTwoRequestsAtOnce) {
  std::vector<int> ids;
  for (int id = 1; id <= 8; ++id) {
    openml.Add(id);
    ids.push_back(id);
  }
  server.emplace([this](const TestRequest& request, TestConnection& connection) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    openml.Answer(request, connection);
  });
  client.emplace(Quick(server->base()));
  for (const FetchOutcome& outcome : FetchMany(cache, *client, ids, {})) {
    EXPECT_TRUE(outcome.present) << outcome.error;
  }
  EXPECT_EQ(cache.List().size(), 8u);
  EXPECT_LE(server->most_at_once(), 2);
}

TEST_F(OpenMlClient, BusyServersAreAskedAgain) {
  const std::string busy_json = R"({"error":{"code":"107","message":"Database connection error"}})";
  const std::string busy_xml =
      R"(<oml:error xmlns:oml="x"><oml:code>107</oml:code><oml:message>busy</oml:message></oml:error>)";
  Serve(kDescription, [&](const TestRequest& request, TestConnection& connection) {
    switch (request.number) {
      case 0:
        return connection.Reply(503, "<html>down</html>", "Retry-After: 0\r\n");
      case 1:
        return connection.Reply(412, busy_json);
      case 2:
        return connection.Reply(412, busy_xml);
      default:
        openml.Answer(request, connection);
    }
  });
  ExpectWhole(Fetch());
  EXPECT_EQ(server->CountPath(kDescription), 4);
}

TEST_F(OpenMlClient, TooManyRequestsIsAPauseNotAnEnd) {
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number == 0)
      connection.Reply(429, "slow down");
    else
      openml.Answer(request, connection);
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, EndlessOutageIsReportedAfterAllAttempts) {
  Serve(kDescription, [](const TestRequest&, TestConnection& connection) {
    connection.Reply(504, "<html><head></head></html>");
  });
  EXPECT_NE(ExpectFailure(Kind::kServer).find("4 attempts"), std::string::npos);
}

TEST_F(OpenMlClient, StallsAreNoticedAndResumed) {
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number > 0) return openml.Answer(request, connection);
    connection.Begin(kText, 30);
    connection.Stall(20);
  });
  const auto start = std::chrono::steady_clock::now();
  ExpectWhole(Fetch());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(server->requests().back().range_start, 30);
}

TEST_F(OpenMlClient, ResetsAreResumedAsLongAsSomethingComes) {
  // Dies after every 10 bytes, more often than there are retries.
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    const std::size_t start =
        request.range_start > 0 ? static_cast<std::size_t>(request.range_start) : 0;
    const std::string head =
        start > 0
            ? "HTTP/1.1 206 X\r\nContent-Range: bytes " + std::to_string(start) + "-" +
                  std::to_string(kText.size() - 1) + "/" + std::to_string(kText.size()) + "\r\n"
            : "HTTP/1.1 200 X\r\n";
    connection.Send(head + "Content-Length: " + std::to_string(kText.size() - start) + "\r\n\r\n");
    connection.Send(kText.substr(start, 10));
    if (start + 10 < kText.size()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      connection.Close();
    }
  });
  ExpectWhole(Fetch());
  EXPECT_GT(server->CountPath(kFile), 5);
}

TEST_F(OpenMlClient, AResetBeforeAnyByteIsAskedAgain) {
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number < 2)
      connection.Reset();
    else
      openml.Answer(request, connection);
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, AServerWithoutRangesStartsOver) {
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number > 0) return connection.Reply(200, kText);
    connection.Begin(kText, 30);
    connection.Close();
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, AWrongRangeStartsOver) {
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.range_start > 0) {
      return connection.Reply(206, kText.substr(3), "Content-Range: bytes 3-99/100\r\n");
    }
    if (request.number > 0) return connection.Reply(200, kText);
    connection.Begin(kText, 30);
    connection.Close();
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, APartOfAnotherFileIsNotJoined) {
  Serve();
  // A part of the right name with other content: the joined file fails its hash, the next does not.
  const std::string part =
      "7-" + Sha256(server->base() + kFile + Md5(kText)).substr(0, 16) + ".part";
  WriteAtomically(folder.path() / "partial" / part, "@relation other\n");
  ExpectWhole(Fetch());
  EXPECT_EQ(server->CountPath(kFile), 2);
  EXPECT_EQ(Rejected(), 0u);
}

TEST_F(OpenMlClient, LiesAboutLengthNeverGetIn) {
  // Announces more than it sends, for ever.
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    connection.Send(
        "HTTP/1.1 " + std::string(request.range_start > 0 ? "206" : "200") + " X\r\n" +
        (request.range_start > 0
             ? "Content-Range: bytes " + std::to_string(request.range_start) + "-999/1000\r\n"
             : std::string()) +
        "Content-Length: 1000\r\n\r\n" + (request.range_start > 0 ? "" : kText));
    connection.Close();
  });
  ExpectFailure(Kind::kServer);
}

TEST_F(OpenMlClient, ATruncatedFileFailsItsHashAndIsSetAside) {
  openml.Add(7, kText.substr(0, kText.size() - 4), Md5(kText));
  Serve();
  const std::string why = ExpectFailure(Kind::kDamaged);
  EXPECT_NE(why.find("expected " + Md5(kText)), std::string::npos) << why;
  EXPECT_NE(why.find("got " + Md5(kText.substr(0, kText.size() - 4))), std::string::npos) << why;
  EXPECT_EQ(Rejected(), 1u);
}

TEST_F(OpenMlClient, TruncatedGzipIsSetAside) {
  const std::string packed = GzipCompress(kText);
  openml.Add(7, packed.substr(0, packed.size() - 9), Md5(kText));
  Serve();
  EXPECT_NE(ExpectFailure(Kind::kDamaged).find("end too early"), std::string::npos);
  EXPECT_EQ(Rejected(), 1u);
}

TEST_F(OpenMlClient, AnHtmlPageIsNeverDataEvenWithTheRightHash) {
  openml.Add(7, "<!DOCTYPE html><html><body>Sorry</body></html>");
  Serve();
  EXPECT_NE(ExpectFailure(Kind::kDamaged).find("HTML"), std::string::npos);
  EXPECT_EQ(Rejected(), 1u);
}

TEST_F(OpenMlClient, AnHtmlPageIsNoDescription) {
  Serve(kDescription, [](const TestRequest&, TestConnection& connection) {
    connection.Reply(200, "<html><body>Sorry</body></html>");
  });
  EXPECT_NE(ExpectFailure(Kind::kServer).find("HTML"), std::string::npos);
}

TEST_F(OpenMlClient, MalformedArffIsSetAsideWithThePlace) {
  openml.Add(
      7,
      "@relation t\n@attribute id numeric\n@attribute x real\n@attribute y {a,b}\n@data\n1,2,c\n");
  Serve();
  EXPECT_NE(ExpectFailure(Kind::kDamaged).find("t.arff:6:5:"), std::string::npos);
  EXPECT_EQ(Rejected(), 1u);
}

TEST_F(OpenMlClient, HostileDescriptions) {
  // A server's threads may still hold what they sent: it ends before its answers change.
  const auto serve = [this](const auto& change) {
    server.reset();
    change();
    Serve();
  };
  for (const char* bad : {"{", "[]", "null", "{\"data_set_description\":{}}",
                          "{\"data_set_description\":{\"id\":\"7\"}}", "\xff\xfe", "[[[[[[[["}) {
    serve([&] { openml.bodies[kDescription] = bad; });
    ExpectFailure(Kind::kDamaged);
  }
  serve([&] { openml.bodies[kDescription] = std::string(100000, '['); });
  ExpectFailure(Kind::kDamaged);
  serve([&] { openml.Add(7, kText, "", {{"id", "8"}}); });
  EXPECT_NE(ExpectFailure(Kind::kDamaged).find("asked for data set 7, got 8"), std::string::npos);
  serve([&] { openml.Add(7, kText, "", {{"format", "CSV"}}); });
  EXPECT_NE(ExpectFailure(Kind::kDamaged).find("ARFF is needed"), std::string::npos);
  for (const char* url :
       {"https://h/../../etc/passwd", "file:///etc/passwd", "https://h/a/..%2f/../b", "https://h",
        "https://h//a", "gopher://h/a", ""}) {
    serve([&] { openml.Add(7, kText, "", {{"url", url}}); });
    EXPECT_NE(ExpectFailure(Kind::kDamaged).find("names no file"), std::string::npos) << url;
  }
}

TEST_F(OpenMlClient, RedirectsAreFollowedButNotForEver) {
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number == 0)
      connection.Reply(302, "", "Location: " + kFile + "\r\n");
    else
      openml.Answer(request, connection);
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, ARedirectLoopEnds) {
  Serve(kFile, [&](const TestRequest&, TestConnection& connection) {
    connection.Reply(302, "", "Location: " + kFile + "\r\n");
  });
  EXPECT_NE(ExpectFailure(Kind::kServer).find("redirects"), std::string::npos);
  EXPECT_LE(server->CountPath(kFile), 6);
}

TEST_F(OpenMlClient, ARedirectToAFileIsRefused) {
  Serve(kFile, [&](const TestRequest&, TestConnection& connection) {
    connection.Reply(302, "", "Location: file:///etc/hostname\r\n");
  });
  ExpectFailure(Kind::kServer);
}

TEST_F(OpenMlClient, UnknownIdsInEveryDialect) {
  const std::string json = R"({"error":{"code":"111","message":"Unknown dataset"}})";
  const std::string xml =
      "<?xml version=\"1.0\"?>\n<oml:error xmlns:oml=\"http://openml.org/openml\">"
      "<oml:code>111</oml:code><oml:message>Unknown dataset</oml:message></oml:error>";
  Serve(kDescription, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number == 0)
      connection.Reply(412, json);
    else if (request.number == 1)
      connection.Reply(412, xml);
    else
      connection.Reply(404, "<html>File not found</html>");
  });
  EXPECT_NE(ExpectFailure(Kind::kNotFound).find("Unknown dataset"), std::string::npos);
  EXPECT_NE(ExpectFailure(Kind::kNotFound).find("111"), std::string::npos);
  ExpectFailure(Kind::kNotFound);
  EXPECT_EQ(server->requests().size(), 3u);
}

TEST_F(OpenMlClient, SpeaksTheComingVersionToo) {
  const std::string description = R"({"id":7,"name":"t7","version":1,"format":"arff","licence":null,
    "creator":["a"],"url":"https://api.openml.org/data/v1/download/7/t.arff","file_id":7,
    "default_target_attribute":["y"],"row_id_attribute":["id"],"ignore_attribute":[],
    "md5_checksum":")" + Md5(kText) +
                                  R"("})";
  const std::string features = R"([{"index":0,"name":"id","data_type":"numeric","is_target":false,
    "is_ignore":false,"is_row_identifier":true,"nominal_values":null},
    {"index":1,"name":"x","data_type":"numeric","is_target":false,"is_ignore":false,
    "is_row_identifier":false},{"index":2,"name":"y","data_type":"nominal","nominal_values":["a","b"],
    "is_target":true,"is_ignore":false,"is_row_identifier":false}])";
  server.emplace([&](const TestRequest& request, TestConnection& connection) {
    if (request.path == "/datasets/7")
      connection.Reply(200, description);
    else if (request.path == "/datasets/features/7")
      connection.Reply(200, features);
    else if (request.path == kFile)
      connection.Reply(200, kText);
    else if (request.path == "/datasets/8")
      connection.Reply(
          404,
          R"({"type":"https://openml.org/problems/dataset-not-found","title":"Dataset Not Found","status":404,"detail":"No dataset with id 8","code":"111"})");
    else
      connection.Reply(404, R"({"detail":"Not Found"})");
  });
  client.emplace(Quick(server->base()));
  ExpectWhole(Fetch());
  EXPECT_THROW(Fetch(8), FetchError);
}

TEST_F(OpenMlClient, ADeadNetworkIsNoticedOnce) {
  int port = 0;
  {
    TestServer closed([](const TestRequest&, TestConnection&) {});
    port = std::stoi(closed.base().substr(17));
  }
  client.emplace(Quick("http://127.0.0.1:" + std::to_string(port)));
  const std::string first = ExpectFailure(Kind::kNoNetwork);
  EXPECT_NE(first.find("no connection"), std::string::npos);
  // Now somebody listens there: a process which has given up does not ask again.
  EXPECT_EQ(ExpectFailure(Kind::kNoNetwork), first);
  client.emplace(Quick("off"));
  EXPECT_NE(ExpectFailure(Kind::kNoNetwork).find("switched off"), std::string::npos);
}

TEST_F(OpenMlClient, FilesBeyondTheLimitAreLeft) {
  openml.Add(7, kText + std::string(100000, '\n'));
  Serve();
  CacheFetchOptions options;
  options.max_bytes = 5000;
  try {
    cache.Fetch(*client, 7, options);
    FAIL() << "no error";
  } catch (const FetchError& error) {
    EXPECT_EQ(error.kind, Kind::kTooLarge) << error.what();
  }
  EXPECT_FALSE(cache.Find(7).has_value());
  Fetch();
}

TEST_F(OpenMlClient, FourProcessesFetchOnce) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char base[64] = {};
      if (read(pipe_ends[0], base, sizeof base) <= 0) _exit(3);
      try {
        OpenMlServer own(Quick(base));
        _exit(cache.Fetch(own, 7, {}).rows == 3 ? 0 : 1);
      } catch (const std::exception&) {
        _exit(2);
      }
    }
    children.push_back(child);
  }
  Serve();
  char base[64] = {};
  server->base().copy(base, sizeof base - 1);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(write(pipe_ends[1], base, sizeof base), 64);
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  EXPECT_EQ(server->CountPath(kFile), 1);
  ExpectWhole(*cache.Find(7));
}

TEST_F(OpenMlClient, AKilledDownloadIsResumedByTheNextProcess) {
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number > 0) return openml.Answer(request, connection);
    connection.Begin(kText, 40);
    connection.Close();
  });
  ServerOptions once = Quick(server->base());
  once.retries = -1;  // gives up at once, as a killed process does
  client.emplace(once);
  EXPECT_THROW(Fetch(), FetchError);
  EXPECT_FALSE(cache.Find(7).has_value());
  client.emplace(Quick(server->base()));
  ExpectWhole(Fetch());
  EXPECT_GT(server->requests().back().range_start, 0);
}

TEST_F(OpenMlClient, FileMirrors) {
  openml.Add(7, GzipCompress(kText), Md5(kText));
  TemporaryFolder mirror;
  openml.WriteTo(mirror.path());
  client.emplace(Quick("file://" + mirror.path().string()));
  // A process died after the last byte, and another after the tenth.
  const std::string part =
      "7-" + Sha256("file://" + mirror.path().string() + kFile + Md5(kText)).substr(0, 16) +
      ".part";
  for (const std::size_t size : {openml.bodies[kFile].size(), std::size_t{10}}) {
    WriteAtomically(folder.path() / "partial" / part, openml.bodies[kFile].substr(0, size));
    ExpectWhole(Fetch());
    // Not the folder itself: made anew it would not be locked, and go as one of a killed process.
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry.path());
  }
  ExpectFailure(Kind::kNotFound, 8);
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, AMirrorsFolderMayBearAnyName) {
  openml.Add(7, GzipCompress(kText), Md5(kText));
  TemporaryFolder mirror;
  const fs::path odd = mirror.path() / "50 % of #7 ?";
  openml.WriteTo(odd);
  const ScopedEnvironment variable("RETABLE_OPENML_URL", odd.string());
  client.emplace(ServerOptions::FromEnvironment());
  ExpectWhole(Fetch());
}

TEST(BackOff, GrowsWithJitterAndABound) {
  double least = 1e9, most = 0;
  for (int i = 0; i < 200; ++i) {
    const double wait = BackOff(3, 0.5);
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, 3.0);
  EXPECT_LE(most, 5.0);
  EXPECT_GT(most - least, 0.5);
  EXPECT_LE(BackOff(1000, 1), 75.0);
}

TEST_F(OpenMlClient, RedirectsToOtherSchemesAreRefused) {
  const fs::path secret = folder.path() / "secret";
  WriteAtomically(secret, kText);  // the very bytes that are looked for
  const std::string inside = secret.string();
  for (const std::string& target :
       {"file://" + inside, "FILE://localhost" + inside, std::string("ftp://127.0.0.1/t.arff"),
        std::string("gopher://127.0.0.1/1"), std::string("dict://127.0.0.1/d"),
        std::string("scp://127.0.0.1/t.arff"), std::string("smb://127.0.0.1/t.arff"),
        std::string("tftp://127.0.0.1/t.arff"), std::string("data:text/plain,x")}) {
    for (const std::string& path : {kFile, kDescription}) {
      server.reset();
      Serve(path, [&](const TestRequest&, TestConnection& connection) {
        connection.Reply(302, "", "Location: " + target + "\r\n");
      });
      ExpectFailure(Kind::kServer);
    }
  }
  EXPECT_EQ(Rejected(), 0u);
}

TEST_F(OpenMlClient, ADecompressionBombIsRefused) {
  // 72 MiB of zeros in 72 KiB.
  static const std::string bomb = GzipCompress(std::string(72 << 20, '0'));
  ASSERT_LT(bomb.size(), 90000u);
  openml.Add(7, bomb, Md5(kText));
  Serve();
  EXPECT_NE(ExpectFailure(Kind::kDamaged).find("decompression bomb"), std::string::npos);
  EXPECT_EQ(Rejected(), 1u);
  server.reset();
  openml.Add(7);
  openml.bodies[kDescription] = bomb;
  Serve();
  ServerOptions once = Quick(server->base());
  once.retries = 0;
  client.emplace(once);
  EXPECT_NE(ExpectFailure(Kind::kServer).find("decompression bomb"), std::string::npos);
}

TEST_F(OpenMlClient, APathThatLeavesTheMirrorIsRefused) {
  const fs::path outside = folder.path() / "outside.arff";
  TemporaryFolder mirror;
  const auto attempt = [&](const std::string& url) {
    openml.Add(7, kText, "", {{"url", url}});
    openml.WriteTo(mirror.path());
    client.emplace(Quick("file://" + mirror.path().string()));
    return ExpectFailure(Kind::kDamaged);
  };
  WriteAtomically(outside, kText);
  const std::string up = fs::relative(outside, mirror.path()).string();
  std::string escaped;
  for (const char c : up) escaped += c == '.' ? std::string("%2e") : std::string(1, c);
  for (const std::string& path :
       {up, escaped, "data/%2E%2e/" + up, "data/..%2f" + up, std::string("data/%2e"),
        std::string("data/a%00b"), std::string("data/a%5cb"), std::string("api/v1/json/data/7"),
        std::string("%61pi/v1/json/data/7"), std::string("/etc/hostname")}) {
    EXPECT_NE(attempt("https://api.openml.org/" + path).find("names no file"), std::string::npos)
        << path;
  }
  for (const std::string id : {"../7", "7/../8", "-7", "%37", "0x7"}) {
    openml.Add(7, kText, "", {{"id", id}});
    openml.WriteTo(mirror.path());
    if (id != "7/../8") ExpectFailure(Kind::kDamaged);
  }
  // A link out of it, to a folder and to a file; and a pipe, which nobody writes to.
  openml.Add(7);
  openml.WriteTo(mirror.path());
  const fs::path file = mirror.path() / kFile.substr(1);
  fs::remove(file);
  fs::create_symlink(outside, file);
  EXPECT_NE(ExpectFailure(Kind::kDamaged).find("leads out of the mirror"), std::string::npos);
  fs::remove_all(file.parent_path());
  fs::create_directory_symlink(folder.path(), file.parent_path());
  WriteAtomically(folder.path() / "t.arff", kText);
  EXPECT_NE(ExpectFailure(Kind::kDamaged).find("leads out of the mirror"), std::string::npos);
  fs::remove(file.parent_path());
  fs::create_directory(file.parent_path());
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  ExpectFailure(Kind::kNotFound);
  // A link inside of it is as good as a file.
  fs::remove(file);
  WriteAtomically(mirror.path() / "store", kText);
  fs::create_symlink(mirror.path() / "store", file);
  ExpectWhole(Fetch());
}

// Whatever names a hostile server gives, only the cache's own folders change.
TEST_F(OpenMlClient, NothingIsWrittenOutsideTheCache) {
  TemporaryFolder above;
  const fs::path root = above.path() / "in" / "cache";
  Cache inner(root);
  const auto outside = [&] {
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(above.path())) {
      const auto [at, rest] =
          std::mismatch(root.begin(), root.end(), entry.path().begin(), entry.path().end());
      files += at != root.end() && entry.is_regular_file();
    }
    return files;
  };
  const std::string up = "../../../../../../evil";
  for (const nlohmann::json& more : std::vector<nlohmann::json>{
           {{"name", up}, {"version", up}, {"licence", up}, {"file_id", up}},
           {{"md5_checksum", up}},
           {{"url", "https://h/" + up}},
           {{"url", "https://h/a%2f" + up}},
           {{"url", "https://h/" + std::string(5000, 'a')}},
           {{"default_target_attribute", up}, {"row_id_attribute", up}}}) {
    server.reset();
    openml.Add(7, kText, "", more);
    Serve();
    try {
      inner.Fetch(*client, 7, {.max_bytes = 0, .refresh = true});
    } catch (const FetchError&) {
    }
    EXPECT_EQ(outside(), 0u) << more;
  }
  // Nor by a record that somebody changed.
  server.reset();
  openml.Add(7);
  Serve();
  inner.Fetch(*client, 7, {.max_bytes = 0, .refresh = true});
  const fs::path record = root / "records/7.json";
  for (const auto& [key, value] :
       {std::pair("file", "../../evil"), std::pair("sha256", "../../../evil")}) {
    nlohmann::json json = nlohmann::json::parse(ReadWhole(record));
    const nlohmann::json good = json;
    json[key] = value;
    WriteAtomically(record, json.dump());
    EXPECT_FALSE(inner.Find(7).has_value()) << key;
    WriteAtomically(record, good.dump());
  }
  EXPECT_TRUE(inner.Find(7).has_value());
  EXPECT_EQ(outside(), 0u);
}

TEST_F(OpenMlClient, NoSecretIsSaidOrKept) {
  const auto with_secrets = [](const std::string& base) {
    return "http://kim:hunter2@" + base.substr(7);
  };
  const auto expect_none = [](const std::string& text) {
    for (const char* secret : {"hunter2", "kim", "sesame"}) {
      EXPECT_EQ(text.find(secret), std::string::npos) << text;
    }
  };
  const std::string key = "?api_key=sesame";
  openml.Add(7, kText, "", {{"url", "https://kim:hunter2@h" + kFile + key}});
  Serve();
  const std::string good = server->base();
  client.emplace(Quick(with_secrets(good)));
  const CacheRecord record = Fetch();
  // It was used, though.
  EXPECT_NE(server->requests()[0].head.find("Authorization: Basic"), std::string::npos);
  expect_none(record.source);
  expect_none(ReadWhole(folder.path() / "records/7.json"));
  TemporaryFolder mirror;
  cache.Mirror({record}, mirror.path());
  expect_none(ReadWhole(mirror.path() / "MANIFEST.tsv"));
  // Errors of every kind.
  fs::remove_all(folder.path() / "records");
  fs::remove_all(folder.path() / "openml");
  fs::remove_all(folder.path() / "frames");
  for (const int status : {404, 403, 500, 302}) {
    for (const std::string& path : {kFile, kDescription}) {
      server.reset();
      OpenMlServer::ForgetDeadNetworks();
      Serve(path, [&](const TestRequest&, TestConnection& connection) {
        connection.Reply(status, "", "Location: http://kim:hunter2@127.0.0.1:1/" + key + "\r\n");
      });
      ServerOptions options = Quick(with_secrets(server->base()));
      options.retries = 0;
      client.emplace(options);
      try {
        Fetch();
        ADD_FAILURE() << status;
      } catch (const FetchError& error) {
        expect_none(error.what());
      }
    }
  }
  openml.Add(7, kText, "", {{"url", "kim:hunter2@h/../" + key}});
  server.reset();
  OpenMlServer::ForgetDeadNetworks();
  Serve();
  expect_none(ExpectFailure(Kind::kDamaged));
  server.reset();
  client.emplace(Quick(with_secrets(good)));  // nobody is there any more
  expect_none(ExpectFailure(Kind::kNoNetwork));
  {
    const ScopedEnvironment proxy("http_proxy", "http://kim:hunter2@127.0.0.1:1");
    OpenMlServer::ForgetDeadNetworks();
    client.emplace(Quick("http://retable.invalid"));
    expect_none(ExpectFailure(Kind::kNoNetwork));
  }
  const ScopedEnvironment url("RETABLE_OPENML_URL", "ftp://kim:hunter2@h/" + key);
  try {
    ServerOptions::FromEnvironment();
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    expect_none(error.what());
  }
}

TEST_F(OpenMlClient, AnErrorsMessageDoesNotSteerTheTerminal) {
  Serve(kDescription, [](const TestRequest&, TestConnection& connection) {
    connection.Reply(412, R"({"error":{"code":"1","message":"a\u001b[2J\r\nb"}})");
  });
  const std::string what = ExpectFailure(Kind::kServer);
  EXPECT_NE(what.find("a [2J  b"), std::string::npos) << what;
}

//! `openssl s_server` with a throwaway certificate, which serves a mirror.
class OpenMlTls : public OpenMlClient {
 protected:
  void SetUp() override {
    if (Shell("openssl version") != 0) GTEST_SKIP() << "no openssl program";
    openml.Add(7);
    openml.WriteTo(folder.path() / "www");
    // An authority that exists for this test alone.
    ASSERT_EQ(Shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                    "-subj /CN=throwaway -keyout ca.key -out ca.pem"),
              0);
  }
  void TearDown() override { Stop(); }

  int Shell(const std::string& command) const {
    return std::system(("cd " + folder.path().string() + " && " + command + " >log 2>&1").c_str());
  }
  void Stop() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

  //! A server with a certificate for `name`, signed by `issuer` ("" for itself), of these days.
  void ServeTls(const std::string& name, const std::string& issuer, const std::string& days,
                const char* mode = "-WWW") {
    Stop();
    mode_ = mode;
    std::ofstream(folder.path() / "ext") << "subjectAltName=" << name << "\n";
    ASSERT_EQ(Shell("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                    "-subj /CN=server -keyout s.key -out s.csr"),
              0);
    const std::string signer =
        issuer.empty() ? "-signkey s.key" : "-CA ca.pem -CAkey ca.key -CAcreateserial";
    ASSERT_EQ(Shell("openssl x509 -req -in s.csr " + signer + " -extfile ext -out s.pem " + days),
              0);
    Start();
    ASSERT_GT(port_, 0);
    OpenMlServer::ForgetDeadNetworks();
    ServerOptions options = Quick("https://127.0.0.1:" + std::to_string(port_));
    options.connect_timeout = 5;
    client.emplace(options);
  }

 private:
  //! Starts the server on a port that the system chooses, and waits until it tells which.
  void Start() {
    const std::string log = (folder.path() / "server.log").string();
    fs::remove(log);
    port_ = 0;
    child_ = fork();
    if (child_ == 0) {
      if (chdir((folder.path() / "www").c_str()) != 0 || !std::freopen("/dev/null", "r", stdin) ||
          !std::freopen(log.c_str(), "w", stdout) || !std::freopen("/dev/null", "w", stderr)) {
        _exit(1);
      }
      execlp("openssl", "openssl", "s_server", mode_, "-accept", "127.0.0.1:0", "-cert", "../s.pem",
             "-key", "../s.key", static_cast<char*>(nullptr));
      _exit(1);
    }
    for (int wait = 0; wait < 500 && port_ == 0; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::ifstream lines(log);
      for (std::string line; std::getline(lines, line) && !lines.eof();) {
        std::sscanf(line.c_str(), "ACCEPT 127.0.0.1:%d", &port_);
      }
    }
  }

  pid_t child_ = 0;
  int port_ = 0;
  const char* mode_ = "-WWW";  //!< files as they are; "-HTTP": files that are whole answers
};

TEST_F(OpenMlTls, ACertificateThatDoesNotHoldIsRefused) {
  const ScopedEnvironment bundle("CURL_CA_BUNDLE", (folder.path() / "ca.pem").string());
  const std::string here = "IP:127.0.0.1";
  ServeTls(here, "ca", "-days 1");
  ExpectWhole(Fetch());
  for (const char* made : {"records", "frames", "openml"}) fs::remove_all(folder.path() / made);

  const auto expect_refusal = [&](const char* why) {
    const std::string what = ExpectFailure(Kind::kServer);
    EXPECT_NE(what.find(why), std::string::npos) << what;
    EXPECT_EQ(what.find("attempts"), std::string::npos) << "asked again: " << what;
  };
  ServeTls(here, "", "-days 1");
  expect_refusal("self");  // "self-signed" or "self signed", by the version of OpenSSL
  ServeTls(here, "ca", "-days -1");
  expect_refusal("expired");
  ServeTls("DNS:elsewhere.example,IP:127.0.0.2", "ca", "-days 1");
  expect_refusal("127.0.0.1");
  {
    const ScopedEnvironment none("CURL_CA_BUNDLE", "");
    ServeTls(here, "ca", "-days 1");
    expect_refusal("issuer");
  }
}

TEST_F(OpenMlTls, ARedirectFromAnEncryptedToAPlainConnectionIsRefused) {
  const ScopedEnvironment bundle("CURL_CA_BUNDLE", (folder.path() / "ca.pem").string());
  Serve();  // plain, and right in all it says
  WriteAtomically(folder.path() / "www" / kDescription.substr(1),
                  "HTTP/1.0 302 Found\r\nContent-Length: 0\r\nLocation: " + server->base() +
                      kDescription + "\r\n\r\n");
  ServeTls("IP:127.0.0.1", "ca", "-days 1", "-HTTP");
  ExpectFailure(Kind::kServer);
  EXPECT_TRUE(server->requests().empty());
}

// It waits for a request, we for its part of the handshake.
TEST_F(OpenMlTls, AServerWithoutTlsIsNoConnection) {
  server.emplace([](const TestRequest&, TestConnection& connection) {
    connection.Reply(200, "no handshake");
  });
  ServerOptions options = Quick("https://" + server->base().substr(7));
  options.connect_timeout = 1;
  client.emplace(options);
  ExpectFailure(Kind::kNoNetwork);
}

}  // namespace
}  // namespace retable::datasets
