#pragma once
//! @file
//! Commands of the program that a family brings along (`retable forest ...`). A build without the
//! family has no such command, and the program names none of them.

#include <functional>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace retable::harness {

struct Verb {
  std::string name;     //!< "forest"
  std::string summary;  //!< one line for --help
  //! Takes the words after the name; returns the exit status.
  std::function<int(const std::vector<std::string>&, std::ostream&, std::ostream&)> run;
};

//! All registered verbs.
inline std::vector<Verb>& Verbs() {
  static std::vector<Verb> verbs;
  return verbs;
}

//! What is said after words were refused: help and version go to `out`; an option or a verb that
//! there is not is named on `err` with the nearest that there is, else what CLI11 has to say.
//! @return 0 after help or version, else 1
int RefuseWords(const CLI::App& app, const CLI::ParseError& problem, std::ostream& out,
                std::ostream& err);

//! CLI11 reads "-3" into an unsigned number as 2^64 - 3. @throws CLI::ValidationError
void CheckUnsigned(const CLI::App& app);

//! What every verb's function does: parses `words` by `app`, then runs `body`. Help goes to `out`;
//! what is wrong with the words, or what the body throws, to `err` after the app's name.
//! @return what the body returns; 0 after help; 1 wrong usage; 2 the body threw
int RunVerb(CLI::App& app, const std::vector<std::string>& words, std::ostream& out,
            std::ostream& err, const std::function<int()>& body);

//! Thrown by a body for words that only it can see are wrong: status 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

//! The body of a verb whose work throws std::invalid_argument for nothing but its words.
std::function<int()> WithWordsRefused(std::function<int()> body);

struct VerbRegistration {
  explicit VerbRegistration(Verb verb) { Verbs().push_back(std::move(verb)); }
};

}  // namespace retable::harness
