#include "datasets/openml/simple_xml.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/utf8.hpp"

namespace retable::datasets {
namespace {

constexpr int kDeepest = 32;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  nlohmann::json Document() {
    SkipProlog();
    nlohmann::json document = nlohmann::json::object();
    auto [name, value] = Element(0);
    document[name] = std::move(value);
    return document;
  }

 private:
  [[noreturn]] void Fail(const char* why) const {
    throw std::runtime_error("XML, byte " + std::to_string(at_) + ": " + why);
  }

  bool StartsWith(std::string_view token) const { return text_.substr(at_, token.size()) == token; }

  void SkipPast(std::string_view token) {
    const auto found = text_.find(token, at_);
    if (found == text_.npos) Fail("unexpected end");
    at_ = found + token.size();
  }

  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }

  //! Declarations, comments and the document type.
  void SkipProlog() {
    for (SkipSpace(); at_ < text_.size(); SkipSpace()) {
      if (StartsWith("<?"))
        SkipPast("?>");
      else if (StartsWith("<!--"))
        SkipPast("-->");
      else if (StartsWith("<!"))
        SkipPast(">");
      else
        return;
    }
    Fail("no element");
  }

  //! The name in the tag at "<"; leaves at_ behind the tag and says whether it closed itself.
  std::pair<std::string, bool> OpenTag() {
    if (!StartsWith("<")) Fail("expected an element");
    const auto close = text_.find('>', at_);
    if (close == text_.npos) Fail("a tag without >");
    std::string_view tag = text_.substr(at_ + 1, close - at_ - 1);
    const bool empty = !tag.empty() && tag.back() == '/';
    if (empty) tag.remove_suffix(1);
    std::string_view name = tag.substr(0, tag.find_first_of(" \t\r\n"));
    if (name.empty() || name[0] == '/') Fail("a tag without a name");
    at_ = close + 1;
    if (const auto colon = name.find(':'); colon != name.npos) name.remove_prefix(colon + 1);
    return {std::string(name), empty};
  }

  std::pair<std::string, nlohmann::json> Element(int depth) {
    if (depth > kDeepest) Fail("nested too deeply");
    auto [name, empty] = OpenTag();
    if (empty) return {name, ""};
    nlohmann::json children = nlohmann::json::object();
    std::string content;
    for (;;) {
      if (at_ >= text_.size()) Fail("an element is not closed");
      if (StartsWith("</")) {
        SkipPast(">");
        break;
      }
      if (StartsWith("<!--")) {
        SkipPast("-->");
      } else if (StartsWith("<![CDATA[")) {
        const auto first = at_ + 9;
        SkipPast("]]>");
        content += text_.substr(first, at_ - 3 - first);
      } else if (StartsWith("<")) {
        auto [child, value] = Element(depth + 1);
        Add(children, child, std::move(value));
      } else if (text_[at_] == '&') {
        Entity(content);
      } else {
        content += text_[at_++];
      }
    }
    if (!children.empty()) return {name, std::move(children)};
    return {name, ToUtf8(content)};
  }

  static void Add(nlohmann::json& children, const std::string& name, nlohmann::json value) {
    auto found = children.find(name);
    if (found == children.end()) {
      children[name] = std::move(value);
    } else if (found->is_array()) {
      found->push_back(std::move(value));
    } else {
      *found = nlohmann::json::array({std::move(*found), std::move(value)});
    }
  }

  void Entity(std::string& out) {
    const auto end = text_.find(';', at_);
    if (end == text_.npos || end - at_ > 10) {
      out += text_[at_++];  // a bare ampersand, as descriptions have them
      return;
    }
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (name == "lt")
      out += '<';
    else if (name == "gt")
      out += '>';
    else if (name == "amp")
      out += '&';
    else if (name == "quot")
      out += '"';
    else if (name == "apos")
      out += '\'';
    else if (name.size() > 1 && name[0] == '#')
      NumericEntity(name.substr(1), out);
    else
      out.append("&").append(name).append(";");
  }

  void NumericEntity(std::string_view digits, std::string& out) const {
    const bool hex = digits[0] == 'x' || digits[0] == 'X';
    if (hex) digits.remove_prefix(1);
    unsigned code = 0xFFFD;
    const char* end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, code, hex ? 16 : 10).ptr != end) Fail("a bad entity");
    AppendUtf8(out, code);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

nlohmann::json XmlToJson(std::string_view text) {
  return Reader(text).Document();
}

}  // namespace retable::datasets
