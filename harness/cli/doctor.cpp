#include <CLI/CLI.hpp>

#include "harness/cli/commands.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/machine/doctor.hpp"

namespace retable::harness {
namespace {

struct DoctorArguments {
  bool measure = false;
  std::string out;  //!< results folder that keeps the ceilings; empty: none
};

int RunDoctor(const Context&, const DoctorArguments& a, std::ostream& out, std::ostream&) {
  if (!a.out.empty()) CheckFolderToWrite(a.out);
  const std::string path = a.out.empty() ? "" : a.out + "/ceilings.json";
  return Doctor(out, a.measure || !path.empty(), path);
}

}  // namespace

Verb MakeDoctorVerb(const Context& context) {
  return MakeVerb<DoctorArguments>(
      context, "doctor", "This machine, its GPU and libraries",
      [](CLI::App& verb, DoctorArguments& a) {
        verb.add_flag("--measure", a.measure, "measure the machine's ceilings");
        verb.add_option("--out", a.out, "keep the ceilings in this results folder");
      },
      RunDoctor);
}

}  // namespace retable::harness
