#pragma once
//! @file
//! For tests only: a small OpenML in memory, a folder that goes away, and environment variables
//! that come back.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "base/temporary_folder.hpp"
#include "datasets/openml/http_test_server.hpp"

namespace retable::datasets {

class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedEnvironment() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

//! Paths and bodies of a mirror with some data sets, as v1 answers.
class SmallOpenMl {
 public:
  static constexpr const char* kArff =
      "@relation t\n@attribute id numeric\n@attribute x real\n@attribute y {a,b}\n@data\n"
      "1,0.5,a\n2,1.5,b\n3,?,a\n";

  static std::string FilePath(int id) {
    return "/data/v1/download/" + std::to_string(id) + "/t.arff";
  }
  static std::string DescriptionPath(int id) { return "/api/v1/json/data/" + std::to_string(id); }
  static std::string FeaturesPath(int id) {
    return "/api/v1/json/data/features/" + std::to_string(id);
  }

  //! Adds a data set; `body` is what the file's path answers, `md5` what the description says.
  void Add(int id, const std::string& body = kArff, std::string md5 = "",
           const nlohmann::json& more = {}) {
    const std::string n = std::to_string(id);
    nlohmann::json description = {{"id", n},
                                  {"name", "t" + n},
                                  {"version", "1"},
                                  {"format", "ARFF"},
                                  {"licence", "Public"},
                                  {"url", "https://api.openml.org" + FilePath(id)},
                                  {"file_id", n},
                                  {"default_target_attribute", "y"},
                                  {"row_id_attribute", "id"},
                                  {"status", "active"},
                                  {"md5_checksum", md5.empty() ? Md5(body) : md5}};
    if (more.is_object()) description.update(more);
    bodies[DescriptionPath(id)] = nlohmann::json{{"data_set_description", description}}.dump();
    nlohmann::json features = nlohmann::json::array();
    for (const char* name : {"id", "x", "y"}) {
      features.push_back({{"index", std::to_string(features.size())},
                          {"name", name},
                          {"data_type", std::string(name) == "y" ? "nominal" : "numeric"},
                          {"is_target", std::string(name) == "y" ? "true" : "false"},
                          {"is_ignore", "false"},
                          {"is_row_identifier", "false"}});
    }
    bodies[FeaturesPath(id)] = nlohmann::json{{"data_features", {{"feature", features}}}}.dump();
    bodies[FilePath(id)] = body;
  }

  //! Answers as a good server does: 404 where there is nothing, 206 for ranges.
  void Answer(const TestRequest& request, TestConnection& connection) const {
    const auto found = bodies.find(request.path);
    if (found == bodies.end()) {
      connection.Reply(404, "<html><body>no</body></html>");
    } else if (request.range_start > 0) {
      const std::string& body = found->second;
      const auto start = static_cast<std::size_t>(request.range_start);
      if (start >= body.size()) {
        connection.Reply(416, "");
      } else {
        connection.Reply(206, std::string_view(body).substr(start),
                         "Content-Range: bytes " + std::to_string(start) + "-" +
                             std::to_string(body.size() - 1) + "/" + std::to_string(body.size()) +
                             "\r\n");
      }
    } else {
      connection.Reply(200, found->second);
    }
  }

  void WriteTo(const std::filesystem::path& folder) const {
    for (const auto& [path, body] : bodies) WriteAtomically(folder / path.substr(1), body);
  }

  std::map<std::string, std::string> bodies;
};

}  // namespace retable::datasets
