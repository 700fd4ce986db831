#include "datasets/openml/json.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text/ascii.hpp"
#include "base/utf8.hpp"
#include "datasets/openml/simple_xml.hpp"

namespace retable::datasets {
namespace {

using Json = nlohmann::json;

std::string_view WithoutSpace(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? std::string_view() : text.substr(first);
}

//! The body as a tree, told by its first character.
Json ParseTree(std::string_view body) {
  const std::string_view text = WithoutSpace(body);
  if (text.empty()) throw ShapeError("an empty answer");
  if (LooksLikeHtml(text)) throw ShapeError("an HTML page instead of data");
  try {
    if (text[0] == '<') return XmlToJson(text);
    return Json::parse(ToUtf8(text));
  } catch (const std::exception& error) {
    throw ShapeError(std::string("an answer which cannot be read: ") + error.what());
  }
}

//! A member by the first of the names that is there, or null.
const Json& MemberOf(const Json& object, const char* name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

//! A scalar as text, whatever its type, or a list's first; empty for null, [] and objects.
std::string Text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  // A list in a list is no scalar: a hostile one is as deep as it likes.
  if (value.is_array() && !value.empty() && value.front().is_primitive()) {
    return Text(value.front());
  }
  return "";
}

//! A list as it is, a scalar as a list of one, null and [] as none.
std::vector<std::string> Texts(const Json& value) {
  std::vector<std::string> texts;
  if (value.is_array()) {
    for (const Json& item : value) {
      if (item.is_primitive() && !item.is_null()) texts.push_back(Text(item));
    }
  } else if (const std::string text = Text(value); !text.empty()) {
    texts.push_back(text);
  }
  return texts;
}

std::int64_t Integer(const Json& value, std::int64_t fallback) {
  const std::string text = Text(value);
  std::int64_t number = fallback;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool Flag(const Json& value) {
  const std::string text = LowerCase(Text(value));
  return text == "true" || text == "1";
}

//! v1 wraps the answer in an object of one member; v2 does not.
const Json& Unwrap(const Json& tree, const char* wrapper) {
  const Json& inner = MemberOf(tree, wrapper);
  return inner.is_null() ? tree : inner;
}

//! "a,b" in a target's name is two targets, as OpenML writes multi-target tasks.
std::vector<std::string> SplitCommas(const std::vector<std::string>& names) {
  std::vector<std::string> split;
  for (const std::string& name : names) {
    std::size_t first = 0;
    for (;;) {
      const auto comma = name.find(',', first);
      split.push_back(name.substr(first, comma - first));
      if (comma == name.npos) break;
      first = comma + 1;
    }
  }
  return split;
}

}  // namespace

bool LooksLikeHtml(std::string_view body) {
  const std::string head = LowerCase(WithoutSpace(body).substr(0, 512));
  return head.rfind("<!doctype html", 0) == 0 || head.rfind("<html", 0) == 0 ||
         (head.rfind("<", 0) == 0 && head.find("<html") != head.npos);
}

Description ParseDescription(std::string_view body) {
  const Json tree = ParseTree(body);
  const Json& set = Unwrap(tree, "data_set_description");
  Description d;
  d.id = static_cast<int>(Integer(MemberOf(set, "id"), 0));
  d.name = Text(MemberOf(set, "name"));
  d.version = Text(MemberOf(set, "version"));
  d.format = LowerCase(Text(MemberOf(set, "format")));
  d.licence = Text(MemberOf(set, "licence"));
  d.url = Text(MemberOf(set, "url"));
  d.md5 = LowerCase(Text(MemberOf(set, "md5_checksum")));
  d.targets = SplitCommas(Texts(MemberOf(set, "default_target_attribute")));
  d.row_ids = Texts(MemberOf(set, "row_id_attribute"));
  d.ignored = Texts(MemberOf(set, "ignore_attribute"));
  if (d.id <= 0 || d.name.empty()) {
    throw ShapeError("an answer which is no data set's description (no id or name)");
  }
  return d;
}

std::vector<Feature> ParseFeatures(std::string_view body) {
  const Json tree = ParseTree(body);
  const Json& wrapped = Unwrap(tree, "data_features");
  const Json& list = wrapped.is_array() ? wrapped : MemberOf(wrapped, "feature");
  // A list of one is collapsed to the thing itself.
  std::vector<const Json*> items;
  if (list.is_array()) {
    for (const Json& item : list) items.push_back(&item);
  } else if (list.is_object()) {
    items.push_back(&list);
  }
  std::vector<Feature> features;
  for (const Json* item : items) {
    Feature f;
    f.index = Integer(MemberOf(*item, "index"), -1);
    f.name = Text(MemberOf(*item, "name"));
    f.is_target = Flag(MemberOf(*item, "is_target"));
    f.is_ignore = Flag(MemberOf(*item, "is_ignore"));
    f.is_row_identifier = Flag(MemberOf(*item, "is_row_identifier"));
    if (f.index < 0 || f.name.empty()) throw ShapeError("a feature without index or name");
    features.push_back(std::move(f));
  }
  if (features.empty()) throw ShapeError("an answer which is no list of features");
  return features;
}

std::optional<ApiError> ParseApiError(std::string_view body) {
  Json tree;
  try {
    tree = ParseTree(body);
  } catch (const ShapeError&) {
    return {};
  }
  ApiError error;
  const Json& wrapped = MemberOf(tree, "error");
  if (wrapped.is_object()) {
    error.code = static_cast<int>(Integer(MemberOf(wrapped, "code"), 0));
    error.message = Text(MemberOf(wrapped, "message"));
    const std::string more = Text(MemberOf(wrapped, "additional_information"));
    if (!more.empty()) error.message += " (" + more + ")";
    return error;
  }
  // RFC 9457, and the plain {"detail": ...} of v2's framework.
  const Json& detail = MemberOf(tree, "detail");
  if (!detail.is_null() && MemberOf(tree, "id").is_null()) {
    error.code = static_cast<int>(Integer(MemberOf(tree, "code"), 0));
    const std::string title = Text(MemberOf(tree, "title"));
    error.message = detail.is_object() ? Text(MemberOf(detail, "message")) : Text(detail);
    if (detail.is_object())
      error.code = static_cast<int>(Integer(MemberOf(detail, "code"), error.code));
    if (error.message.empty()) error.message = title;
    return error;
  }
  return {};
}

}  // namespace retable::datasets
