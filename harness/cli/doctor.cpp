#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/machine/doctor.hpp"

namespace retable::harness {
namespace {

struct DoctorArguments {
  bool measure = false;
  std::string out;  //!< results folder that keeps the ceilings; empty: none
};

}  // namespace

Verb MakeDoctorVerb(const Context& context) {
  return MakeVerb(context, "doctor", "This machine, its GPU and libraries",
                  [](CLI::App& verb) -> VerbBody {
                    const auto a = std::make_shared<DoctorArguments>();
                    verb.add_flag("--measure", a->measure, "measure the machine's ceilings");
                    verb.add_option("--out", a->out, "keep the ceilings in this results folder");
                    return [a](std::ostream& out, std::ostream&) {
                      if (!a->out.empty()) CheckFolderToWrite(a->out);
                      const std::string path = a->out.empty() ? "" : a->out + "/ceilings.json";
                      return Doctor(out, a->measure || !path.empty(), path);
                    };
                  });
}

}  // namespace retable::harness
