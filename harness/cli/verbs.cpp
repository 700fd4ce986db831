#include "harness/cli/verbs.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <optional>
#include <ostream>
#include <string_view>

#include "base/files/output_paths.hpp"
#include "base/text/suggest.hpp"
#include "harness/cli/context.hpp"
#include "harness/cli/reason.hpp"

namespace retable::harness {
namespace {

constexpr const char* kDescription =
    "Retable: the experiments of five works on GPU machine learning, run again";

// The verb that the words reached before they went wrong.
const CLI::App& Reached(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? app : Reached(*verbs.front());
}

std::vector<std::string> Options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "010", which strtoull takes for eight.
bool IsOctal(std::string_view value) {
  if (value.starts_with('-') || value.starts_with('+')) value.remove_prefix(1);
  return value.size() > 1 && value[0] == '0' && value[1] >= '0' && value[1] <= '9';
}

// Why this is no whole number of 64 bits; empty where it is one.
std::string WhyNotWhole(const std::string& value, bool is_signed) {
  if (!is_signed && value.starts_with("-")) return " is less than 0";
  errno = 0;
  char* end = nullptr;
  if (is_signed) {
    std::strtoll(value.c_str(), &end, 0);
  } else {
    std::strtoull(value.c_str(), &end, 0);
  }
  if (errno == ERANGE) return " has more than 64 bits";
  if (*end != '\0') return " is not a whole number";
  return IsOctal(value) ? " begins with 0; leave it out" : "";
}

std::vector<std::string> VerbNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

// What is said after words were refused: help and version go to `out`; an option or a verb that
// there is not is named on `err` with the nearest that there is, else what CLI11 has to say. Gives
// the exit status: 0 after help or version, else 1.
int RefuseWords(const CLI::App& app, const CLI::ParseError& problem, std::ostream& out,
                std::ostream& err) {
  const std::vector<std::string> words = app.remaining(true);
  if (problem.get_exit_code() == 0 || words.empty()) {
    return app.exit(problem, out, err) == 0 ? 0 : 1;
  }
  const CLI::App& at = Reached(app);
  const std::string word = words.front().substr(0, words.front().find('='));
  if (word.starts_with("-")) {
    err << "unknown option " << word << DidYouMean(word, Options(at)) << "\n";
  } else if (const auto verbs = VerbNames(at); !verbs.empty()) {
    err << "unknown command \"" << word << "\"" << DidYouMean(word, verbs) << "\n";
  } else {
    err << at.get_name() << " takes no \"" << word << "\"\n";
  }
  err << "Run with --help for more information.\n";
  return 1;
}

// What CLI11 lets pass ("-3" and "99999999999999999999" as numbers of 64 bits, nothing as the name
// of an output), or refuses as out of range: "2.0" where a whole number is asked for.
void CheckWords(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name(), type = option->get_type_name();
    for (const std::string& value : option->results()) {
      const bool is_signed = type.starts_with("INT");
      if (is_signed || type.starts_with("UINT")) {
        const std::string why = WhyNotWhole(value, is_signed);
        if (!why.empty()) throw CLI::ValidationError(name, value + why);
      }
      constexpr std::array<std::string_view, 5> kNamed = {"--out", "--to", "--shard", "--submit",
                                                          "--resume-from"};
      if (value.empty() && std::ranges::count(kNamed, name) > 0) {
        throw CLI::ValidationError(name, "its value is empty");
      }
    }
  }
  for (const CLI::App* verb : app.get_subcommands()) CheckWords(*verb);
}

// Reads the words, the last first; the exit status where they were not taken.
std::optional<int> Parse(CLI::App& app, std::vector<std::string> reversed, std::ostream& out,
                         std::ostream& err) {
  try {
    try {
      app.parse(std::move(reversed));
    } catch (const CLI::ParseError& problem) {
      if (problem.get_exit_code() != 0) CheckWords(app);  // where it says it more clearly
      throw;
    }
    CheckWords(app);
  } catch (const CLI::ParseError& problem) {
    return RefuseWords(app, problem, out, err);
  }
  return {};
}

}  // namespace

int RunVerb(CLI::App& app, const std::vector<std::string>& words, std::ostream& out,
            std::ostream& err, const std::function<int()>& body) {
  if (const auto status = Parse(app, {words.rbegin(), words.rend()}, out, err)) return *status;
  try {
    return body();
  } catch (const std::exception& problem) {
    err << app.get_name() << ": " << ReasonOf(problem) << "\n";
    const bool usage = dynamic_cast<const UsageError*>(&problem) != nullptr ||
                       dynamic_cast<const OutputRefused*>(&problem) != nullptr;
    return usage ? 1 : 2;
  }
}

Verb MakeVerb(const Context& context, const std::string& name, const std::string& summary,
              std::function<VerbBody(CLI::App&)> declare) {
  const auto run = [invoked = context.invoked, name, summary, declare = std::move(declare)](
                       const std::vector<std::string>& words, std::ostream& out,
                       std::ostream& err) {
    CLI::App app{kDescription, invoked};
    const VerbBody body = declare(*app.add_subcommand(name, summary));
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    reversed.push_back(name);
    const auto status = Parse(app, std::move(reversed), out, err);
    return status ? *status : body(out, err);
  };
  return {name, summary, run};
}

int Dispatch(const std::vector<Verb>& verbs, const Context& context, const std::string& version,
             const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  for (const Verb& verb : verbs) {
    if (words.empty() || verb.name != words.front()) continue;
    try {
      return verb.run({words.begin() + 1, words.end()}, out, err);
    } catch (const std::exception& problem) {
      err << ReasonOf(problem) << "\n";
      return dynamic_cast<const std::bad_alloc*>(&problem) != nullptr ? kCellFailed : kUsage;
    }
  }
  CLI::App app{kDescription, context.invoked};
  app.set_version_flag("--version", version);
  for (const Verb& verb : verbs) {
    if (!verb.summary.empty()) app.add_subcommand(verb.name, verb.summary);
  }
  if (const auto status = Parse(app, {words.rbegin(), words.rend()}, out, err)) return *status;
  out << app.help();
  return kUsage;
}

std::function<int()> WithWordsRefused(std::function<int()> body) {
  return [body = std::move(body)] {
    try {
      return body();
    } catch (const std::invalid_argument& words) {
      throw UsageError(words.what());
    }
  };
}

}  // namespace retable::harness
