#include "algorithms/treeshap/model/xgboost_document.hpp"

#include <algorithm>

namespace retable::treeshap::detail {

namespace {

constexpr std::size_t kDeepest = 64;  // containers in each other; UBJSON's parser calls itself
constexpr const char* kPlace = "place of the lists";  // member of a tree
constexpr std::string_view kLists[] = {
    "categories",       "categories_nodes", "categories_segments", "categories_sizes",
    "default_left",     "leaf_weights",     "left_children",       "right_children",
    "split_conditions", "split_indices",    "sum_hessian",
};

// Takes the parser's events: those of a tree's list into a vector, all others into JSON.
class DocumentBuilder {
 public:
  DocumentBuilder(XgboostDocument& document, std::size_t bytes, const char* format)
      : document_(document), bytes_(bytes), format_(format) {}

  bool null() { return in_list_ ? NoNumber() : Put(nullptr); }
  bool boolean(bool value) { return in_list_ ? Add(value ? 1 : 0) : Put(value); }
  bool number_integer(std::int64_t value) { return Number(value); }
  bool number_unsigned(std::uint64_t value) { return Number(value); }
  bool number_float(double value, const std::string&) { return Number(value); }
  bool string(std::string& text) {
    if (!in_list_) return Put(std::move(text));
    const auto number = ParseNumber(text);
    return number ? Add(*number) : NoNumber();
  }
  bool binary(Json::binary_t&) { return NoNumber(); }  // in other formats alone

  bool key(std::string& name) {
    key_ = std::move(name);
    // Of a name that comes twice the last value holds, be it a list or not.
    if (in_tree_ && depth() == trees_depth_ + 1) document_.trees.back().erase(key_);
    return true;
  }
  bool start_object(std::size_t count) {
    Open(count, Json::object());
    if (depth() == trees_depth_ + 1) {
      in_tree_ = true;
      document_.trees.emplace_back();
    }
    return true;
  }
  bool end_object() {
    if (depth() == trees_depth_ + 1) {
      in_tree_ = false;
      (*open_.back())[kPlace] = document_.trees.size() - 1;
    }
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t count) {
    const bool trees = key_ == "trees" && trees_depth_ == kNowhere;
    Open(count, Json::array());
    if (trees) trees_depth_ = depth();
    in_list_ = in_tree_ && depth() == trees_depth_ + 2;
    if (!in_list_) return true;
    const bool used = std::ranges::find(kLists, key_) != std::end(kLists);
    list_ = used ? &document_.trees.back()[key_] : nullptr;
    if (used && count != kUnknown) list_->reserve(count);
    return true;
  }
  bool end_array() {
    if (depth() == trees_depth_) trees_depth_ = kNowhere;
    in_list_ = false;
    open_.pop_back();
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    throw std::invalid_argument(std::string("the model is not valid ") + format_ + ": " +
                                error.what());
  }

 private:
  static constexpr auto kUnknown = static_cast<std::size_t>(-1);
  static constexpr std::size_t kNowhere = 2 * kDeepest;
  static constexpr const char* kNoNumber = "a list of a tree holds something that is no number";

  std::size_t depth() const { return open_.size(); }

  void Open(std::size_t count, Json container) {
    Require(!in_list_, kNoNumber);
    if (count != kUnknown) announced_ += count;
    Require(depth() < kDeepest && (count == kUnknown || count <= bytes_) && announced_ <= bytes_,
            "the model is nested too deeply, or counts are larger than the file; it is damaged");
    Json& place = Next();
    place = std::move(container);
    open_.push_back(&place);
  }
  // Where the next value goes.
  Json& Next() {
    if (open_.empty()) return document_.json;
    Json& around = *open_.back();
    return around.is_object() ? around[key_] : around.emplace_back();
  }
  bool Put(Json value) {
    Next() = std::move(value);
    return true;
  }
  template <class Value>
  bool Number(Value value) {
    return in_list_ ? Add(static_cast<double>(value)) : Put(value);
  }
  bool Add(double number) {
    if (list_ != nullptr) list_->push_back(number);
    return true;
  }
  bool NoNumber() const {
    Require(list_ == nullptr, kNoNumber);
    return true;
  }

  XgboostDocument& document_;
  std::size_t bytes_, announced_ = 0;  // entries that counts announced: each takes a byte
  const char* format_;
  std::vector<Json*> open_;             // objects and arrays around the next value
  std::string key_;                     // the last one
  std::size_t trees_depth_ = kNowhere;  // of the list of trees that is open
  bool in_tree_ = false, in_list_ = false;
  std::vector<double>* list_ = nullptr;
};

XgboostDocument Parse(std::string_view bytes, nlohmann::detail::input_format_t format,
                      const char* name) {
  XgboostDocument document;
  DocumentBuilder builder(document, bytes.size(), name);
  Json::sax_parse(bytes, &builder, format);
  return document;
}

// XGBoost writes Infinity and NaN bare, which JSON does not know: as texts, numbers are read.
std::string QuoteNonFinite(std::string_view text) {
  std::string quoted;
  bool in_string = false;
  for (std::size_t at = 0, length = 1; at < text.size(); at += length) {
    const std::string_view rest = text.substr(at);
    bool bare = false;
    length = in_string && rest.front() == '\\' ? 2 : 1;
    if (rest.front() == '"') in_string = !in_string;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (in_string || !rest.starts_with(word)) continue;
      bare = true;
      length = word.size();
    }
    quoted.append(bare ? "\"" : "").append(rest.substr(0, length)).append(bare ? "\"" : "");
  }
  return quoted;
}

}  // namespace

const XgboostDocument::Lists& XgboostDocument::ListsOf(const Json& tree) const {
  const auto last = static_cast<double>(trees.size()) - 1;
  return trees[static_cast<std::size_t>(Integer(Member(tree, kPlace), "trees", 0, last))];
}

XgboostDocument ParseXgboostJson(std::string_view text) {
  const bool finite =
      text.find("Infinity") == std::string_view::npos && text.find("NaN") == std::string_view::npos;
  constexpr auto kJson = nlohmann::detail::input_format_t::json;
  return finite ? Parse(text, kJson, "JSON") : Parse(QuoteNonFinite(text), kJson, "JSON");
}

XgboostDocument ParseXgboostUbj(std::string_view bytes) {
  return Parse(bytes, nlohmann::detail::input_format_t::ubjson, "UBJSON");
}

}  // namespace retable::treeshap::detail
