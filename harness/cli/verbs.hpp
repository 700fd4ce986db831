#pragma once
//! @file
//! The verbs of the program and their one dispatcher.
//!
//! A family registers its verbs (`retable forest ...`), so that a build without the family has none
//! of them and the program names none. The harness's own verbs (harness/cli/commands.hpp) are
//! values of the same type. The program joins both into one table.

#include <functional>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace retable::harness {

struct Context;

struct Verb {
  std::string name;     //!< "forest"
  std::string summary;  //!< one line for --help; empty: the verb is not listed
  //! Takes the words after the name; returns the exit status.
  std::function<int(const std::vector<std::string>&, std::ostream&, std::ostream&)> run;
};

//! The verbs that families registered.
inline std::vector<Verb>& Verbs() {
  static std::vector<Verb> verbs;
  return verbs;
}

//! What every verb's function does: parses `words` by `app`, then runs `body`. Help goes to `out`;
//! what is wrong with the words, or what the body throws, to `err` after the app's name.
//! @return what the body returns; 0 after help; 1 wrong usage, an output that is refused
//! (base/files/output_paths.hpp); 2 the body threw something else
int RunVerb(CLI::App& app, const std::vector<std::string>& words, std::ostream& out,
            std::ostream& err, const std::function<int()>& body);

//! Thrown by a body for words that only it can see are wrong: status 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

//! The body of a verb whose work throws std::invalid_argument for nothing but its words.
std::function<int()> WithWordsRefused(std::function<int()> body);

//! What a verb does once its words are parsed.
using VerbBody = std::function<int(std::ostream& out, std::ostream& err)>;

//! A verb of the harness. `declare` adds its options to the parser and returns its body, which owns
//! the parsed arguments. Wrong words return 1, like whatever the body throws.
Verb MakeVerb(const Context& context, const std::string& name, const std::string& summary,
              std::function<VerbBody(CLI::App&)> declare);

//! Runs the verb that the first word names, with the words after it. Without a verb: help, the
//! version, or what is wrong with the words. @return the exit status
int Dispatch(const std::vector<Verb>& verbs, const Context& context, const std::string& version,
             const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

struct VerbRegistration {
  explicit VerbRegistration(Verb verb) { Verbs().push_back(std::move(verb)); }
};

}  // namespace retable::harness
