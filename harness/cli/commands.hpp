#pragma once
//! @file
//! The harness's own verbs, each with its command line. The program puts them into its table
//! (apps/retable.cpp) beside those of the families (harness/cli/verbs.hpp).

#include <functional>
#include <memory>
#include <string>

#include "harness/cli/context.hpp"
#include "harness/cli/verbs.hpp"

namespace retable::harness {

//! A verb whose options `declare` binds to Arguments, which `body` is given once they are parsed.
template <class Arguments, class Body>
Verb MakeVerb(const Context& context, const std::string& name, const std::string& summary,
              const std::function<void(CLI::App&, Arguments&)>& declare, Body body) {
  return MakeVerb(context, name, summary, [=](CLI::App& verb) -> VerbBody {
    const auto arguments = std::make_shared<Arguments>();
    declare(verb, *arguments);
    return
        [=](std::ostream& out, std::ostream& err) { return body(context, *arguments, out, err); };
  });
}

//! Experiments with citations and expected times; the fields of a TOML; the protocols.
Verb MakeListVerb(const Context& context);
//! Measures experiments into a results folder.
Verb MakeRunVerb(const Context& context);
//! Verdicts and claims of a results folder.
Verb MakeCheckVerb(const Context& context);
//! Packs a results folder into results/recorded/.
Verb MakeRecordVerb(const Context& context);
//! Tables, figures and the report of a results folder.
Verb MakeReportVerb(const Context& context);
//! Two results folders, or two programs or commits in turns.
Verb MakeCompareVerb(const Context& context);
//! The A/A run: this program against itself; leaves noise.json in the results folder.
Verb MakeNoiseVerb(const Context& context);
//! An artifact in every recording and run.
Verb MakeHistoryVerb(const Context& context);
//! One cell: what ran, on what, every sample, the command that repeats it.
Verb MakeExplainVerb(const Context& context);
//! This machine, its GPU and libraries, and what is missing.
Verb MakeDoctorVerb(const Context& context);
//! The tuned constants of a family on this machine's card; `folder` keeps a file a kind of card,
//! and is empty where there is no cache.
Verb MakeTuneVerb(const Context& context, const std::string& folder);

//! Puts in force what `retable tune` left in the folder for this machine's card.
//! @throws std::invalid_argument for a damaged file
void UseTuned(const std::string& folder);

}  // namespace retable::harness
