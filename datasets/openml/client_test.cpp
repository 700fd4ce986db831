//! Against a server that misbehaves: whatever it does, a data set is in the cache whole or not at
//! all, and the message says what happened.

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <algorithm>
#include <chrono>

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
  OpenMlClient() : cache(folder.path()) { OpenMlServer::ForgetDeadNetworks(); }

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
  openml.Add(7);
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
  openml.Add(7);
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
  openml.Add(7);
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number == 0)
      connection.Reply(429, "slow down");
    else
      openml.Answer(request, connection);
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, EndlessOutageIsReportedAfterAllAttempts) {
  openml.Add(7);
  Serve(kDescription, [](const TestRequest&, TestConnection& connection) {
    connection.Reply(504, "<html><head></head></html>");
  });
  EXPECT_NE(ExpectFailure(Kind::kServer).find("4 attempts"), std::string::npos);
}

TEST_F(OpenMlClient, StallsAreNoticedAndResumed) {
  openml.Add(7);
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number > 0) return openml.Answer(request, connection);
    connection.Send("HTTP/1.1 200 X\r\nContent-Length: " + std::to_string(kText.size()) +
                    "\r\n\r\n");
    connection.Send(kText.substr(0, 30));
    connection.Stall(20);
  });
  const auto start = std::chrono::steady_clock::now();
  ExpectWhole(Fetch());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(server->requests().back().range_start, 30);
}

TEST_F(OpenMlClient, ResetsAreResumedAsLongAsSomethingComes) {
  openml.Add(7);
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
  openml.Add(7);
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number < 2)
      connection.Reset();
    else
      openml.Answer(request, connection);
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, AServerWithoutRangesStartsOver) {
  openml.Add(7);
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number > 0) return connection.Reply(200, kText);
    connection.Send("HTTP/1.1 200 X\r\nContent-Length: " + std::to_string(kText.size()) +
                    "\r\n\r\n" + kText.substr(0, 30));
    connection.Close();
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, AWrongRangeStartsOver) {
  openml.Add(7);
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.range_start > 0) {
      return connection.Reply(206, kText.substr(3), "Content-Range: bytes 3-99/100\r\n");
    }
    if (request.number > 0) return connection.Reply(200, kText);
    connection.Send("HTTP/1.1 200 X\r\nContent-Length: " + std::to_string(kText.size()) +
                    "\r\n\r\n" + kText.substr(0, 30));
    connection.Close();
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, APartOfAnotherFileIsNotJoined) {
  openml.Add(7);
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
  openml.Add(7);
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
  openml.Add(7);
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
  openml.Add(7);
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
  openml.Add(7);
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number == 0)
      connection.Reply(302, "", "Location: " + kFile + "\r\n");
    else
      openml.Answer(request, connection);
  });
  ExpectWhole(Fetch());
}

TEST_F(OpenMlClient, ARedirectLoopEnds) {
  openml.Add(7);
  Serve(kFile, [&](const TestRequest&, TestConnection& connection) {
    connection.Reply(302, "", "Location: " + kFile + "\r\n");
  });
  EXPECT_NE(ExpectFailure(Kind::kServer).find("redirects"), std::string::npos);
  EXPECT_LE(server->CountPath(kFile), 6);
}

TEST_F(OpenMlClient, ARedirectToAFileIsRefused) {
  openml.Add(7);
  Serve(kFile, [&](const TestRequest&, TestConnection& connection) {
    connection.Reply(302, "", "Location: file:///etc/hostname\r\n");
  });
  ExpectFailure(Kind::kServer);
}

TEST_F(OpenMlClient, UnknownIdsInEveryDialect) {
  openml.Add(7);
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
    else if (request.path == "/studies/99")
      connection.Reply(200, R"({"data_ids":[7,8],"task_ids":[1,2]})");
    else if (request.path == "/datasets/8")
      connection.Reply(
          404,
          R"({"type":"https://openml.org/problems/dataset-not-found","title":"Dataset Not Found","status":404,"detail":"No dataset with id 8","code":"111"})");
    else
      connection.Reply(404, R"({"detail":"Not Found"})");
  });
  client.emplace(Quick(server->base()));
  ExpectWhole(Fetch());
  EXPECT_EQ(ParseStudy(client->StudyBody(99)), (std::vector<int>{7, 8}));
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
  openml.Add(7);
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
  openml.Add(7);
  Serve(kFile, [&](const TestRequest& request, TestConnection& connection) {
    if (request.number > 0) return openml.Answer(request, connection);
    connection.Send("HTTP/1.1 200 X\r\nContent-Length: " + std::to_string(kText.size()) +
                    "\r\n\r\n" + kText.substr(0, 40));
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
    fs::remove_all(folder.path());
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

}  // namespace
}  // namespace retable::datasets
