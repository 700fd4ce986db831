#pragma once
//! @file
//! Structs as JSON by one list of their fields, which serves writing and reading:
//!
//!     template <class Io>
//!     void Fields(Io& io, ClaimSpec& c) {
//!       io("id", c.id);
//!       if (io.Has("note", true)) io("note", c.note);  // older files have none
//!     }
//!
//! A struct with such a list converts to and from JSON, alone and in vectors and maps.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/plan/value_json.hpp"

namespace retable::harness {

template <class Json>
class JsonWriter {
 public:
  explicit JsonWriter(Json& object) : object_(object) {}
  //! Whether the field is written.
  bool Has(const char* /*name*/, bool wanted) const { return wanted; }
  void operator()(const char* name, double value) { object_[name] = NumberToJson(value); }
  void operator()(const char* name, const std::vector<double>& values) {
    Json array = Json::array();
    for (double value : values) array.push_back(NumberToJson(value));
    object_[name] = std::move(array);
  }
  void operator()(const char* name, const Values& values) { object_[name] = ToJson(values); }
  template <class T>
  void operator()(const char* name, const T& member) {
    object_[name] = member;
  }

 private:
  Json& object_;
};

//! @throws nlohmann::json::exception on a wrong shape
class JsonReader {
 public:
  explicit JsonReader(const nlohmann::json& object) : object_(object) {}
  //! Whether the field is there.
  bool Has(const char* name, bool /*wanted*/) const { return object_.contains(name); }
  void operator()(const char* name, double& value) { value = NumberFromJson(object_.at(name)); }
  void operator()(const char* name, std::vector<double>& values) {
    values.clear();
    for (const nlohmann::json& item : object_.at(name)) values.push_back(NumberFromJson(item));
  }
  void operator()(const char* name, Values& values) { values = ValuesFromJson(object_.at(name)); }
  //! A whole number alone: 1e300 made an integer is undefined behaviour.
  void operator()(const char* name, std::int64_t& member) {
    member = object_.at(name).get_ref<const nlohmann::json::number_integer_t&>();
  }
  template <class T>
  void operator()(const char* name, T& member) {
    object_.at(name).get_to(member);
  }

 private:
  const nlohmann::json& object_;
};

template <class T>
concept HasFields = requires(T& value, JsonReader& reader) {
  Fields(reader, value);
};

template <class Json, HasFields T>
void to_json(Json& to, const T& value) {
  to = Json::object();
  JsonWriter<Json> writer(to);
  Fields(writer, const_cast<T&>(value));  // a writer changes nothing
}

template <HasFields T>
void from_json(const nlohmann::json& from, T& value) {
  JsonReader reader(from);
  Fields(reader, value);
}

}  // namespace retable::harness
