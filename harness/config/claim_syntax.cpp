#include "harness/config/claim_syntax.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>

#include "base/text/suggest.hpp"

namespace retable::harness {
namespace {

// Deeper than any check a person writes, shallow enough for the stack.
constexpr int kDeepest = 200;
constexpr std::size_t kLongest = 20000;
// a + b + c is ((a + b) + c): a chain is as deep as it is long.
constexpr int kMostOperators = 1000;

struct Function {
  const char* name;
  std::size_t least, most;
};
constexpr std::size_t kAny = 1000;
constexpr Function kFunctions[] = {
    {"cell", 2, 2},  {"paper", 2, 2},  {"low", 2, 2},    {"high", 2, 2},
    {"known", 1, 1}, {"failed", 1, 1}, {"abs", 1, 1},    {"exp", 1, 1},
    {"floor", 1, 1}, {"log", 1, 1},    {"log2", 1, 1},   {"log10", 1, 1},
    {"sqrt", 1, 1},  {"min", 1, kAny}, {"max", 1, kAny}, {"near", 3, 3}};
constexpr const char* kQuantifiers[] = {"all", "any", "count", "share",
                                        "min", "max", "sum",   "mean"};
constexpr const char* kReserved[] = {"and", "or", "not", "in", "if", "true", "false"};

struct Token {
  enum class Kind { kNumber, kString, kName, kSymbol, kEnd } kind = Kind::kEnd;
  std::size_t position = 1;
  std::string text;
  double number = 0;
};

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token Next() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
    Token token;
    token.position = at_ + 1;
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
      Number(token);
    } else if (c == '"' || c == '\'') {
      String(token);
    } else if (IsLetter(c)) {
      token.kind = Token::Kind::kName;
      while (at_ < text_.size() && (IsLetter(text_[at_]) || IsDigit(text_[at_]))) {
        token.text += text_[at_++];
      }
    } else {
      Symbol(token);
    }
    return token;
  }

 private:
  void Number(Token& token) {
    token.kind = Token::Kind::kNumber;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), token.number);
    if (error != std::errc()) throw ExpressionError("number out of range", token.position);
    token.text = std::string(begin, end);
    at_ += token.text.size();
  }

  void String(Token& token) {
    token.kind = Token::Kind::kString;
    const char quote = text_[at_++];
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      token.text += text_[at_];
    }
    if (at_ >= text_.size()) throw ExpressionError("string is never closed", token.position);
    ++at_;
  }

  void Symbol(Token& token) {
    token.kind = Token::Kind::kSymbol;
    for (const char* symbol : {"<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "^", "(", ")",
                               "[", "]", ",", ":"}) {
      if (text_.substr(at_, std::string_view(symbol).size()) != symbol) continue;
      token.text = symbol;
      at_ += token.text.size();
      return;
    }
    if (text_[at_] == '=') throw ExpressionError("\"=\" (equality is \"==\")", token.position);
    throw ExpressionError("unexpected character \"" + std::string(1, text_[at_]) + "\"",
                          token.position);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

using TreePtr = std::unique_ptr<Tree>;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {
    Advance();
    Advance();
  }

  TreePtr Whole() {
    TreePtr tree = Or();
    if (token_.kind != Token::Kind::kEnd) Unexpected("an operator or the end");
    return tree;
  }

 private:
  void Advance() {
    token_ = ahead_;
    ahead_ = lexer_.Next();
  }

  [[noreturn]] void Unexpected(const std::string& wanted) const {
    const std::string found =
        token_.kind == Token::Kind::kEnd ? "the end" : "\"" + token_.text + "\"";
    throw ExpressionError("expected " + wanted + " but found " + found, token_.position);
  }

  bool Is(std::string_view text) const {
    return (token_.kind == Token::Kind::kSymbol || token_.kind == Token::Kind::kName) &&
           token_.text == text;
  }

  bool Eat(std::string_view text) {
    if (!Is(text)) return false;
    Advance();
    return true;
  }

  void Expect(std::string_view text) {
    if (!Eat(text)) Unexpected(std::string("\"").append(text).append("\""));
  }

  TreePtr Make(Op op, std::size_t position, std::string text = "") const {
    auto tree = std::make_unique<Tree>();
    tree->op = op;
    tree->position = position;
    tree->text = std::move(text);
    return tree;
  }

  TreePtr Binary(Op op, std::size_t position, TreePtr left, TreePtr right) {
    if (++operators_ > kMostOperators) throw ExpressionError("too many operators", position);
    TreePtr tree = Make(op, position);
    tree->children.push_back(std::move(left));
    tree->children.push_back(std::move(right));
    return tree;
  }

  // Counts the nesting for as long as it lives.
  class Deeper {
   public:
    Deeper(int& depth, std::size_t position) : depth_(depth) {
      if (++depth_ > kDeepest) throw ExpressionError("nested too deeply", position);
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    int& depth_;
  };

  struct Infix {
    std::string_view text;
    Op op;
  };
  // Operands with these operators between them, joined from the left.
  TreePtr Chain(std::initializer_list<Infix> infixes, TreePtr (Parser::*operand)()) {
    TreePtr left = (this->*operand)();
    for (;;) {
      const auto* infix = std::ranges::find_if(infixes, [&](const Infix& i) { return Is(i.text); });
      if (infix == infixes.end()) return left;
      const std::size_t position = token_.position;
      Advance();
      left = Binary(infix->op, position, std::move(left), (this->*operand)());
    }
  }

  TreePtr Or() {
    const Deeper deeper(depth_, token_.position);
    return Chain({{"or", Op::kOr}}, &Parser::And);
  }
  TreePtr And() { return Chain({{"and", Op::kAnd}}, &Parser::Not); }
  TreePtr Sum() { return Chain({{"+", Op::kAdd}, {"-", Op::kSubtract}}, &Parser::Product); }
  TreePtr Product() { return Chain({{"*", Op::kMultiply}, {"/", Op::kDivide}}, &Parser::Unary); }

  TreePtr Not() {
    if (!Is("not")) return Compare();
    const Deeper deeper(depth_, token_.position);
    TreePtr tree = Make(Op::kNot, token_.position);
    Advance();
    tree->children.push_back(Not());
    return tree;
  }

  bool IsComparison() const {
    if (token_.kind != Token::Kind::kSymbol) return false;
    const std::string& t = token_.text;
    return t == "<" || t == "<=" || t == ">" || t == ">=" || t == "==" || t == "!=";
  }

  TreePtr Compare() {
    TreePtr first = Sum();
    if (!IsComparison()) return first;
    TreePtr tree = Make(Op::kCompare, token_.position);
    tree->children.push_back(std::move(first));
    while (IsComparison()) {
      tree->operators.push_back(token_.text);
      Advance();
      tree->children.push_back(Sum());
    }
    return tree;
  }

  TreePtr Unary() {
    const Deeper deeper(depth_, token_.position);
    if (!Is("-")) return Power();
    TreePtr tree = Make(Op::kNegate, token_.position);
    Advance();
    tree->children.push_back(Unary());
    return tree;
  }

  TreePtr Power() {
    TreePtr base = Primary();
    if (!Is("^")) return base;
    const std::size_t position = token_.position;
    Advance();
    return Binary(Op::kPower, position, std::move(base), Unary());
  }

  TreePtr Primary() {
    const std::size_t position = token_.position;
    const bool number = token_.kind == Token::Kind::kNumber;
    if (number || token_.kind == Token::Kind::kString) {
      TreePtr tree = Make(number ? Op::kNumber : Op::kString, position, token_.text);
      tree->number = token_.number;
      Advance();
      return tree;
    }
    if (Eat("(")) {
      TreePtr tree = Or();
      Expect(")");
      return tree;
    }
    if (Eat("true")) return Make(Op::kTrue, position);
    if (Eat("false")) return Make(Op::kFalse, position);
    if (token_.kind == Token::Kind::kName && !IsReserved(token_.text)) return Named();
    Unexpected("a value");
  }

  static bool IsReserved(const std::string& name) {
    return std::ranges::count(kReserved, name) > 0;
  }

  TreePtr Named() {
    const Token name = token_;
    Advance();
    if (!Is("(")) return Variable(name);
    Advance();
    // A quantifier is told from a function by "name in" after its parenthesis.
    const bool quantifier = token_.kind == Token::Kind::kName &&
                            ahead_.kind == Token::Kind::kName && ahead_.text == "in";
    return quantifier ? Quantifier(name) : Call(name);
  }

  TreePtr Variable(const Token& name) const {
    if (std::ranges::count(bound_, name.text) == 0) {
      throw ExpressionError("unknown name \"" + name.text + "\"" + DidYouMean(name.text, bound_),
                            name.position);
    }
    return Make(Op::kName, name.position, name.text);
  }

  TreePtr Call(const Token& name) {
    const Function* function = nullptr;
    std::vector<std::string> known;
    for (const Function& candidate : kFunctions) {
      known.emplace_back(candidate.name);
      if (name.text == candidate.name) function = &candidate;
    }
    for (const char* quantifier : kQuantifiers) {
      if (function == nullptr && name.text == quantifier) Unexpected("\"name in set\"");
    }
    if (function == nullptr) {
      throw ExpressionError("unknown function \"" + name.text + "\"" + DidYouMean(name.text, known),
                            name.position);
    }
    TreePtr tree = Make(Op::kCall, name.position, name.text);
    if (!Is(")")) {
      do tree->children.push_back(Or());
      while (Eat(","));
    }
    Expect(")");
    const std::size_t given = tree->children.size();
    if (given < function->least || given > function->most) {
      throw ExpressionError(name.text + " takes " + std::to_string(function->least) +
                                (function->most == kAny ? " or more" : "") + " arguments, not " +
                                std::to_string(given),
                            name.position);
    }
    return tree;
  }

  TreePtr Quantifier(const Token& name) {
    if (std::ranges::count(kQuantifiers, name.text) == 0) {
      throw ExpressionError(
          "unknown quantifier \"" + name.text + "\"" +
              DidYouMean(name.text, {std::begin(kQuantifiers), std::end(kQuantifiers)}),
          name.position);
    }
    if (IsReserved(token_.text)) Unexpected("a name");
    TreePtr tree = Make(Op::kQuantify, name.position, name.text);
    tree->variable = token_.text;
    Advance();
    Expect("in");
    Set(tree->set);
    bound_.push_back(tree->variable);
    TreePtr filter = Eat("if") ? Or() : nullptr;
    Expect(":");
    tree->children.push_back(Or());
    if (filter != nullptr) tree->children.push_back(std::move(filter));
    bound_.pop_back();
    Expect(")");
    return tree;
  }

  void Set(SetSyntax& set) {
    if (token_.kind == Token::Kind::kString) {
      set.patterns.push_back(token_.text);
      Advance();
    } else if (Eat("rows")) {
      Patterns(set);
    } else if (Eat("columns")) {
      set.kind = SetSyntax::Kind::kColumns;
      Patterns(set);
    } else if (Eat("[")) {
      set.kind = SetSyntax::Kind::kList;
      do set.items.push_back(Or());
      while (Eat(","));
      Expect("]");
    } else {
      Unexpected("a set (\"pattern\", rows, columns, or [a, b])");
    }
  }

  void Patterns(SetSyntax& set) {
    if (!Eat("(")) return;
    do {
      if (token_.kind != Token::Kind::kString) Unexpected("a pattern in quotes");
      set.patterns.push_back(token_.text);
      Advance();
    } while (Eat(","));
    Expect(")");
  }

  Lexer lexer_;
  Token token_, ahead_;
  std::vector<std::string> bound_;
  int depth_ = 0;
  int operators_ = 0;
};

// What an expression is, as its text tells. Missing data is of every type.
enum class Type { kTruth, kNumber, kString, kEither };  // either: of a list of numbers and strings

void Check(Type found, Type wanted, std::size_t position) {
  constexpr const char* kNames[] = {"true or false", "a number", "a string",
                                    "a number or a string"};
  if (found == wanted && found != Type::kEither) return;
  const Type named = wanted == Type::kEither ? Type::kString : wanted;
  throw ExpressionError(std::string("expected ") + kNames[static_cast<int>(named)] + " but found " +
                            kNames[static_cast<int>(found)],
                        position);
}

// The name of a row or column may be given as a number.
void CheckName(Type found, std::size_t position) {
  if (found == Type::kTruth) Check(found, Type::kString, position);
}

// Each expression is visited once, so that the cost is that of parsing.
class Types {
 public:
  void Need(const Tree& tree, Type wanted) { Check(Of(tree), wanted, tree.position); }

 private:
  Type Of(const Tree& tree) {
    switch (tree.op) {
      case Op::kString:
        return Type::kString;
      case Op::kName:
        return bound_.at(tree.text).back();
      case Op::kNumber:
        return Type::kNumber;
      case Op::kTrue:
      case Op::kFalse:
        return Type::kTruth;
      case Op::kOr:
      case Op::kAnd:
      case Op::kNot:
        return All(tree, Type::kTruth);
      case Op::kCompare:
        return Compare(tree);
      case Op::kAdd:
        return Sum(tree);
      case Op::kCall:
        return Call(tree);
      case Op::kQuantify:
        return Quantify(tree);
      default:
        return All(tree, Type::kNumber);
    }
  }

  Type All(const Tree& tree, Type wanted) {
    for (const auto& child : tree.children) Need(*child, wanted);
    return wanted;
  }

  Type Compare(const Tree& tree) {
    const Type first = Of(*tree.children[0]);
    Check(first, first, tree.children[0]->position);  // refuses either
    for (std::size_t i = 1; i < tree.children.size(); ++i) Need(*tree.children[i], first);
    return Type::kTruth;
  }

  Type Sum(const Tree& tree) {
    const Tree &left = *tree.children[0], &right = *tree.children[1];
    const Type a = Of(left), b = Of(right);
    if (a <= Type::kNumber && b <= Type::kNumber) {
      Check(a, Type::kNumber, left.position);
      Check(b, Type::kNumber, right.position);
      return Type::kNumber;
    }
    CheckName(a, left.position);
    CheckName(b, right.position);
    return a == Type::kString || b == Type::kString ? Type::kString : Type::kEither;
  }

  Type Call(const Tree& tree) {
    const std::string& name = tree.text;
    if (name == "known") {
      Of(*tree.children[0]);
    } else if (name == "cell" || name == "paper" || name == "low" || name == "high") {
      for (const auto& child : tree.children) CheckName(Of(*child), child->position);
    } else {
      All(tree, Type::kNumber);
    }
    const bool truth = name == "known" || name == "failed" || name == "near";
    return truth ? Type::kTruth : Type::kNumber;
  }

  Type Quantify(const Tree& tree) {
    Type element = Type::kString;
    for (std::size_t i = 0; i < tree.set.items.size(); ++i) {
      const Type item = Of(*tree.set.items[i]);
      if (i == 0) element = item;
      if (item == element) continue;
      if (element == Type::kTruth) Check(item, element, tree.set.items[i]->position);
      CheckName(item, tree.set.items[i]->position);
      element = Type::kEither;
    }
    auto& stack = bound_[tree.variable];
    stack.push_back(element);
    const std::string& name = tree.text;
    const bool whether = name == "all" || name == "any";
    const bool truths = whether || name == "count" || name == "share";
    Need(*tree.children[0], truths ? Type::kTruth : Type::kNumber);
    if (tree.children.size() > 1) Need(*tree.children[1], Type::kTruth);
    stack.pop_back();
    return whether ? Type::kTruth : Type::kNumber;
  }

  std::map<std::string, std::vector<Type>> bound_;  // innermost last
};

}  // namespace

std::unique_ptr<Tree> ParseCheck(std::string_view text) {
  if (text.size() > kLongest) throw ExpressionError("too long a check", kLongest);
  TreePtr check = Parser(text).Whole();
  Types().Need(*check, Type::kTruth);
  return check;
}

}  // namespace retable::harness
