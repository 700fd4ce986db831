#include "harness/verbs.hpp"

#include <CLI/CLI.hpp>
#include <ostream>

namespace retable::harness {

int RunVerb(CLI::App& app, const std::vector<std::string>& words, std::ostream& out,
            std::ostream& err, const std::function<int()>& body) {
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem, out, err) == 0 ? 0 : 1;
  }
  try {
    return body();
  } catch (const UsageError& problem) {
    err << app.get_name() << ": " << problem.what() << "\n";
    return 1;
  } catch (const std::exception& problem) {
    err << app.get_name() << ": " << problem.what() << "\n";
    return 2;
  }
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
