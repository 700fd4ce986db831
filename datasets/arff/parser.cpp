#include "datasets/arff/parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/csv/number.hpp"
#include "base/text/ascii.hpp"
#include "base/utf8.hpp"
#include "datasets/arff/date.hpp"

namespace retable::datasets {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

constexpr std::array<double, 23> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

//! The usual number: [-]digits[.digits], at most 15 digits. Then mantissa and power of ten are both
//! exact doubles and one division rounds correctly (Clinger 1990). Returns where it ends, or
//! nullptr for anything else. Reads no further than the line feed which ends every line.
inline const char* ParsePlainNumber(const char* p, double& out) {
  const bool negative = *p == '-';
  p += negative;
  const char* const first = p;
  std::uint64_t mantissa = 0;
  while (static_cast<unsigned char>(*p - '0') < 10) {
    mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p++ - '0');
  }
  std::ptrdiff_t digits = p - first;
  double value = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    while (static_cast<unsigned char>(*p - '0') < 10) {
      mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p++ - '0');
    }
    const std::ptrdiff_t places = p - fraction;
    digits += places;
    if (digits > 15) return nullptr;
    value = static_cast<double>(mantissa) / kPowersOfTen[static_cast<std::size_t>(places)];
  } else {
    if (digits > 15) return nullptr;
    value = static_cast<double>(mantissa);
  }
  if (digits == 0) return nullptr;
  out = negative ? -value : value;
  return p;
}

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

//! Level -> code, with a table for one-byte levels, which most are.
class LevelTable {
 public:
  LevelTable() { single_.fill(-1); }
  //! The code of a level, -1 when it is not declared.
  int Find(std::string_view level) const {
    if (level.size() == 1) return single_[static_cast<unsigned char>(level[0])];
    const auto found = codes_.find(level);
    return found == codes_.end() ? -1 : found->second;
  }
  //! Keeps the first code of a level given twice.
  void Add(std::string_view level, int code) {
    if (level.size() == 1) {
      int& slot = single_[static_cast<unsigned char>(level[0])];
      if (slot < 0) slot = code;
    } else {
      codes_.emplace(level, code);
    }
  }

 private:
  std::array<int, 256> single_{};
  std::unordered_map<std::string, int, TextHash, std::equal_to<>> codes_;
};

//! One value as written, quotes and escapes resolved.
struct Token {
  std::string_view text;
  bool quoted = false;
};

}  // namespace

struct ArffParser::State {
  explicit State(ArffOptions options_in) : options(std::move(options_in)) {}

  struct Attribute {
    std::unique_ptr<LevelTable> levels;  //!< nominal and string
    std::string date_format;
  };

  ArffOptions options;
  std::string carry;  //!< the part of a line seen so far
  std::string unescaped;
  std::vector<ColumnInfo> columns;
  std::vector<Attribute> attributes;
  std::vector<char> is_numeric;  //!< columns' kinds, dense in cache for the straight path
  std::unordered_set<std::string> names;
  std::optional<FrameBuilder> builder;
  std::vector<std::int64_t> named_in_row;  //!< each column's last sparse row that named it, from 1
  std::int64_t line_number = 0;
  const char* line_start = nullptr;
  bool in_data = false;
  bool started = false;
  enum class Separator { kUnknown, kComma, kBlank } separator = Separator::kUnknown;

  [[noreturn]] void Fail(const char* at, const std::string& why) const {
    throw ParseError(options.file, line_number, at - line_start + 1, why);
  }

  static const char* SkipBlanks(const char* p, const char* end) {
    while (p < end && IsBlank(*p)) ++p;
    return p;
  }

  // --- Tokens -------------------------------------------------------------------------------

  //! After an opening quote at p: the text up to the closing one; p is left behind it.
  std::string_view Quoted(const char*& p, const char* end) {
    const char* const open = p;
    const char quote = *p++;
    const char* const first = p;
    while (p < end && *p != quote && *p != '\\') ++p;
    if (p < end && *p == quote) return {first, static_cast<std::size_t>(p++ - first)};
    unescaped.assign(first, p);
    while (p < end && *p != quote) {
      if (*p != '\\') {
        unescaped += *p++;
      } else if (++p < end) {
        Escape(p, end);
      }
    }
    if (p >= end) Fail(open, std::string("the closing ") + quote + " is missing");
    ++p;
    return unescaped;
  }

  //! Appends what the escape at p (behind the backslash) stands for.
  void Escape(const char*& p, const char* end) {
    const char c = *p++;
    switch (c) {
      case 't':
        unescaped += '\t';
        return;
      case 'n':
        unescaped += '\n';
        return;
      case 'r':
        unescaped += '\r';
        return;
      case 'u': {
        unsigned code = 0;
        const bool short_of_four = end - p < 4;
        const char* const stop = std::from_chars(p, short_of_four ? p : p + 4, code, 16).ptr;
        if (short_of_four || stop != p + 4) Fail(stop, "\\u needs four hexadecimal digits");
        p += 4;
        AppendUtf8(unescaped, code);
        return;
      }
      default:
        unescaped += c;
    }
  }

  //! A value of a row. Bare ones end at a comma (blanks inside are theirs) or, in files apart by
  //! blanks, at a blank; `closing` ends one too (sparse rows, nominal lists), and so does a comment
  //! after a blank.
  Token Value(const char*& p, const char* end, char closing) {
    p = SkipBlanks(p, end);
    if (p < end && (*p == '\'' || *p == '"')) return {Quoted(p, end), true};
    const char* const first = p;
    const bool blanks_end = separator == Separator::kBlank;
    for (; p < end && *p != ',' && *p != closing; ++p) {
      if (IsBlank(*p) && (blanks_end || (p + 1 < end && p[1] == '%'))) break;
    }
    const char* last = p;
    while (last > first && IsBlank(last[-1])) --last;
    return {{first, static_cast<std::size_t>(last - first)}, false};
  }

  // --- Header -------------------------------------------------------------------------------

  void HeaderLine(const char* p, const char* end) {
    p = SkipBlanks(p, end);
    if (p == end || *p == '%') return;
    if (*p == '<') Fail(p, "this is HTML or XML, not ARFF");
    if (*p != '@') Fail(p, "expected @relation, @attribute, @data or a comment");
    const char* word = p;
    while (p < end && !IsBlank(*p)) ++p;
    const std::string_view typed(word, static_cast<std::size_t>(p - word));
    const std::string keyword = LowerCase(typed);
    if (keyword == "@relation") {
      p = SkipBlanks(p, end);
      if (p < end && (*p == '\'' || *p == '"')) Quoted(p, end);  // nobody reads the name
    } else if (keyword == "@attribute") {
      AttributeLine(p, end);
    } else if (keyword == "@data") {
      p = SkipBlanks(p, end);
      if (p < end && *p != '%') Fail(p, "text behind @data; rows begin on the next line");
      BeginData(word);
    } else {
      Fail(word, "unknown declaration \"" + std::string(typed) +
                     "\"; allowed are @relation, @attribute, @data");
    }
  }

  void AttributeLine(const char* p, const char* end) {
    p = SkipBlanks(p, end);
    const char* const name_at = p;
    ColumnInfo column;
    if (p < end && (*p == '\'' || *p == '"')) {
      column.name = ToUtf8(Quoted(p, end));
    } else {
      while (p < end && !IsBlank(*p) && *p != '{') ++p;
      column.name = ToUtf8({name_at, static_cast<std::size_t>(p - name_at)});
    }
    if (column.name.empty()) Fail(name_at, "an attribute needs a name");
    if (!names.insert(column.name).second) {
      Fail(name_at, "the attribute \"" + column.name + "\" is declared twice");
    }
    p = SkipBlanks(p, end);
    Attribute attribute;
    if (p < end && *p == '{') {
      column.kind = ColumnKind::kNominal;
      attribute.levels = std::make_unique<LevelTable>();
      NominalLevels(p, end, column, *attribute.levels);
    } else {
      TypeWord(p, end, column, attribute);
    }
    is_numeric.push_back(column.kind == ColumnKind::kNumeric);
    columns.push_back(std::move(column));
    attributes.push_back(std::move(attribute));
  }

  void NominalLevels(const char* p, const char* end, ColumnInfo& column, LevelTable& table) {
    const char* const open = p++;
    p = SkipBlanks(p, end);
    while (p < end && *p != '}') {
      const char* const at = p;
      const Token token = Value(p, end, '}');
      if (token.text.empty() && !token.quoted) Fail(at, "an empty level");
      table.Add(token.text, static_cast<int>(column.levels.size()));
      column.levels.push_back(ToUtf8(token.text));
      p = SkipBlanks(p, end);
      if (p < end && *p == ',') {
        p = SkipBlanks(p + 1, end);
      } else if (p < end && *p != '}') {
        Fail(p, "expected a comma or }");
      }
    }
    if (p >= end) Fail(open, "the closing } is missing");
    if (column.levels.size() > (1u << 24)) Fail(open, "more levels than float32 tells apart");
    CheckRest(p + 1, end);
  }

  void TypeWord(const char* p, const char* end, ColumnInfo& column, Attribute& attribute) {
    const char* const word = p;
    while (p < end && !IsBlank(*p) && *p != '%' && *p != '[') ++p;
    const std::string_view typed(word, static_cast<std::size_t>(p - word));
    const std::string type = LowerCase(typed);
    if (type == "numeric" || type == "real" || type == "integer") {
      column.kind = ColumnKind::kNumeric;  // a range such as [1,10] may follow; it binds nothing
    } else if (type == "string") {
      column.kind = ColumnKind::kString;
      attribute.levels = std::make_unique<LevelTable>();
      CheckRest(p, end);
    } else if (type == "date") {
      column.kind = ColumnKind::kDate;
      attribute.date_format = kDefaultDateFormat;
      p = SkipBlanks(p, end);
      if (p < end && (*p == '"' || *p == '\'')) {
        attribute.date_format = Quoted(p, end);
      }
      CheckRest(p, end);
    } else {
      Fail(word, "unknown type \"" + std::string(typed) +
                     "\"; allowed are numeric, real, integer, string, date and {level, ...}");
    }
  }

  void CheckRest(const char* p, const char* end) const {
    p = SkipBlanks(p, end);
    if (p < end && *p != '%') Fail(p, "unexpected text after the attribute's type");
  }

  void BeginData(const char* at) {
    if (columns.empty()) Fail(at, "@data without any @attribute");
    in_data = true;
    named_in_row.resize(columns.size());
    std::vector<ColumnRole> roles(columns.size(), ColumnRole::kFeature);
    if (options.roles) roles = options.roles(columns);
    builder.emplace(columns, std::move(roles), options.doubles);
  }

  // --- Rows ---------------------------------------------------------------------------------

  double ToNumber(std::size_t column, const Token& token, const char* at) {
    if (!token.quoted && token.text == "?") return kMissing;
    if (!token.quoted && token.text.empty()) FailValue(column, token, at, "");
    const Attribute& attribute = attributes[column];
    switch (columns[column].kind) {
      case ColumnKind::kNumeric: {
        if (const auto value = ParseNumber(token.text)) return *value;
        FailValue(column, token, at,
                  ReadNumber(token.text).kind == NumberText::Kind::kBeyond
                      ? "is beyond the largest number, 1.8e308"
                      : "is not a number");
      }
      case ColumnKind::kNominal: {
        const int code = attribute.levels->Find(token.text);
        if (code < 0) FailValue(column, token, at, "is not one of the declared levels");
        return code;
      }
      case ColumnKind::kDate: {
        const auto value = ParseDate(token.text, attribute.date_format);
        if (!value) FailValue(column, token, at, "does not fit the date format");
        return *value;
      }
      case ColumnKind::kString:
        break;
    }
    return StringCode(column, token, at);
  }

  //! Strings are numbered by first appearance.
  double StringCode(std::size_t column, const Token& token, const char* at) {
    LevelTable& table = *attributes[column].levels;
    int code = table.Find(token.text);
    if (code < 0) {
      std::vector<std::string>& levels = builder->Levels(column);
      code = static_cast<int>(levels.size());
      if (code >= 1 << 24) Fail(at, "more different strings than float32 tells apart");
      table.Add(token.text, code);
      levels.push_back(ToUtf8(token.text));
    }
    return code;
  }

  [[noreturn]] void FailValue(std::size_t column, const Token& token, const char* at,
                              const char* why) const {
    if (token.text.empty() && !token.quoted) {
      Fail(at, "an empty value for \"" + columns[column].name + "\"; missing is written ?");
    }
    Fail(at, "\"" + Excerpt(ToUtf8(token.text)) + "\" " + why + " (attribute \"" +
                 columns[column].name + "\")");
  }

  void DataLine(const char* p, const char* end) {
    p = SkipBlanks(p, end);
    if (p == end || *p == '%') return;
    const auto width = static_cast<std::int64_t>(columns.size());
    if ((builder->rows() + 1) * width > options.max_cells) {
      Fail(p,
           "more than " + std::to_string(options.max_cells) + " values; the limit can be raised");
    }
    if (*p == '{') {
      SparseRow(p, end);
    } else {
      if (separator == Separator::kUnknown) ChooseSeparator(p, end);
      DenseRow(p, end);
    }
    builder->CommitRow();
  }

  //! The first row tells: a comma outside of quotes, or blanks.
  void ChooseSeparator(const char* p, const char* end) {
    separator = Separator::kComma;
    if (columns.size() == 1) return;
    char quote = 0;
    bool blank = false;
    const char* last = end;
    while (last > p && IsBlank(last[-1])) --last;
    for (; p < last; ++p) {
      if (quote != 0) {
        if (*p == '\\')
          ++p;
        else if (*p == quote)
          quote = 0;
      } else if (*p == '\'' || *p == '"') {
        quote = *p;
      } else if (*p == ',') {
        return;
      } else if (IsBlank(*p)) {
        blank = true;
      }
    }
    if (blank) separator = Separator::kBlank;
  }

  void DenseRow(const char* p, const char* end) {
    double* const row = builder->Row();
    const std::size_t width = columns.size();
    for (std::size_t c = 0; c < width; ++c) {
      // The straight path: a plain number and a comma right behind it.
      if (is_numeric[c]) {
        double value = 0;
        const char* const stop = ParsePlainNumber(p, value);
        if (stop != nullptr && stop < end && *stop == ',' && c + 1 < width) {
          row[c] = value;
          p = stop + 1;
          continue;
        }
        if (stop == end && c + 1 == width) {
          row[c] = value;
          return;
        }
      }
      const char* const at = SkipBlanks(p, end);
      if (at == end) {
        Fail(at, "the row ends after " + std::to_string(c) + " of " + std::to_string(width) +
                     " values");
      }
      const Token token = Value(p, end, ',');
      row[c] = ToNumber(c, token, at);
      p = SkipBlanks(p, end);
      if (c + 1 == width) return EndOfRow(p, end, width);
      if (p < end && *p == ',') {
        ++p;
      } else if (p < end && separator != Separator::kBlank) {
        Fail(p, "expected a comma");
      }
    }
  }

  //! What may follow the last value: nothing, a comma, a comment, an instance weight.
  void EndOfRow(const char* p, const char* end, std::size_t width) const {
    if (p < end && *p == ',') p = SkipBlanks(p + 1, end);
    if (p < end && *p == '{') {
      const char* const open = p;
      double weight = 0;
      p = ParsePlainNumber(SkipBlanks(p + 1, end), weight);
      if (p != nullptr) p = SkipBlanks(p, end);
      if (p == nullptr || p >= end || *p != '}') Fail(open, "expected an instance weight {w}");
      p = SkipBlanks(p + 1, end);
    }
    if (p < end && *p != '%') {
      Fail(p, "the row has more than " + std::to_string(width) + " values");
    }
  }

  void SparseRow(const char* p, const char* end) {
    double* const row = builder->Row();
    const std::size_t width = columns.size();
    std::fill_n(row, width, 0.0);
    const char* const open = p++;
    separator = separator == Separator::kUnknown ? Separator::kComma : separator;
    for (p = SkipBlanks(p, end); p < end && *p != '}'; p = SkipBlanks(p, end)) {
      std::size_t index = 0;
      const auto [stop, error] = std::from_chars(p, end, index);
      if (error != std::errc()) Fail(p, "expected an attribute's index");
      if (index >= width) {
        Fail(p, "index " + std::string(p, stop) + ", but there are " + std::to_string(width) +
                    " attributes, counted from 0");
      }
      if (stop >= end || !IsBlank(*stop)) Fail(stop, "expected a blank and a value");
      if (std::exchange(named_in_row[index], builder->rows() + 1) == builder->rows() + 1) {
        Fail(p, "index " + std::string(p, stop) + " twice in one row");
      }
      p = SkipBlanks(stop, end);
      const char* const at = p;
      row[index] = ToNumber(index, Value(p, end, '}'), at);
      p = SkipBlanks(p, end);
      if (p < end && *p == ',') {
        ++p;
      } else if (p < end && *p != '}') {
        Fail(p, "expected a comma or }");
      }
    }
    if (p >= end) Fail(open, "the closing } is missing");
    EndOfRow(SkipBlanks(p + 1, end), end, width);
  }

  // --- Lines --------------------------------------------------------------------------------

  //! One line without its line feed; *end can be read and is a line feed.
  void Line(const char* p, const char* end) {
    ++line_number;
    line_start = p;
    if (!started) {
      started = true;
      if (end - p >= 3 && std::memcmp(p, "\xEF\xBB\xBF", 3) == 0) p += 3;
    }
    if (end > p && end[-1] == '\r') --end;
    if (in_data) {
      DataLine(p, end);
    } else {
      HeaderLine(p, end);
    }
  }
};

ArffParser::ArffParser(ArffOptions options) : state_(std::make_unique<State>(std::move(options))) {}

ArffParser::~ArffParser() = default;

void ArffParser::Feed(std::string_view text) {
  State& s = *state_;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    const auto* feed =
        static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    if (feed == nullptr) {
      s.carry.append(p, end);
      return;
    }
    if (s.carry.empty()) {
      s.Line(p, feed);
    } else {
      s.carry.append(p, feed + 1);
      s.Line(s.carry.data(), s.carry.data() + s.carry.size() - 1);
      s.carry.clear();
    }
    p = feed + 1;
  }
}

Frame ArffParser::Finish() {
  State& s = *state_;
  if (!s.carry.empty()) {
    s.carry += '\n';
    s.Line(s.carry.data(), s.carry.data() + s.carry.size() - 1);
    s.carry.clear();
  }
  if (!s.in_data) {
    throw ParseError(s.options.file, s.line_number + 1, 1,
                     "the file ends before @data: empty or cut short");
  }
  return s.builder->Finish();
}

Frame ParseArff(std::string_view text, ArffOptions options) {
  ArffParser parser(std::move(options));
  parser.Feed(text);
  return parser.Finish();
}

}  // namespace retable::datasets
