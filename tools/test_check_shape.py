#!/usr/bin/env python3
"""Plants one violation of each kind in a small tree and sees check_shape.py report it there alone."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_shape  # noqa: E402

GLOSSARY = """# Glossary

## Banned words

| word | use instead | only in |
|---|---|---|
| `own_classes` | row class | |
| `refine` | remeasure | harness |
"""
# Everything a scanner by braces may stumble over, and nothing to report.
CLEAN = r'''#pragma once
// A comment with a brace { and a quote "
#include <vector>
#define OPEN(x) if (x) {
namespace retable {
struct alignas(16) Small {
  int a = 1, b{2};
  std::vector<std::pair<int, int>> c = {{1, 2}, {3, 4}};  //!< pairs of rows
  static constexpr int kMany = 3;
  int sum() const { return a + b; }
  bool operator==(const Small&) const = default;
};
class Made : public Small {
 public:
  explicit Made(std::vector<int> v, int n = 1'000'000) noexcept : v_{std::move(v)}, n_(n), e_{} {
    const auto f = [&](int x) { return x > 0 ? x : -x; };
    n_ = f(n_);
  }
  auto begin() const -> decltype(v_.begin()) { return v_.begin(); }
  template <class T, int N = (3 > 2)>
  requires(sizeof(T) > 1) operator T() const { return T{}; }

 private:
  std::vector<int> v_;
  int n_, e_;
};
inline const char* Raw() { return R"x(} { " own_classes)x"; }
#if defined(A)
inline int F(int x) {
#else
inline int F(long x) {
#endif
  switch (x) { case 1: return '{'; default: return '}'; }
}
const bool registered = [] { return true; }();
}  // namespace retable
'''


class CheckShape(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/glossary.md", GLOSSARY)
        self.write("algorithms/shuffle/clean.hpp", CLEAN)
        self.write("README.md", "| a | b |\n|---|---|\n| short | " + "w " * 25 + "|\n\n" + "word " * 40)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def found(self, *only):
        return check_shape.check(self.root, only or check_shape.KINDS)

    def expect(self, kind, name, line=None, count=1):
        """The planted violation, seen once, and no other."""
        found = self.found()
        self.assertEqual([(f[0], f[2]) for f in found], [(name, kind)] * count, found)
        if line is not None:
            self.assertEqual(found[0][1], line)

    def functions(self, text):
        self.write("harness/functions.cpp", text)
        tree = check_shape.Tree(self.root)
        return {f.name for f in check_shape.scan(tree.by_name["harness/functions.cpp"])[0]}

    def test_a_clean_tree(self):
        self.assertEqual(self.found(), [])
        tree = check_shape.Tree(self.root)
        functions, structs, _ = check_shape.scan(tree.by_name["algorithms/shuffle/clean.hpp"])
        self.assertLessEqual({"sum", "Made", "begin", "Raw", "F"}, {f.name for f in functions})
        self.assertEqual([s.name for s in structs], ["Small"])

    def test_files(self):
        for i in range(26):
            self.write(f"harness/plan/x{i}.cpp", "")
        self.expect("files", "harness/plan/")

    def test_prefix(self):
        for name in ("grid.hpp", "grid.cpp", "grid_test.cpp", "grid_a.cpp", "grid_b.cpp"):
            self.write("harness/" + name, "")
        self.assertEqual(self.found(), [])
        self.write("harness/grid_c.hpp", "")
        self.expect("prefix", "harness/")

    def test_function_length(self):
        body = "  Call();\n" * 79
        self.write("harness/long_test.cpp", "void F() {\n" + body + "}\n")
        self.write("harness/report/table.cpp", "// Declared table: all keys\nvoid F() {\n" + body + "}\n")
        self.write("harness/short.cpp", "void F() {\n" + body[10:] + "}\n")
        self.assertEqual(self.found(), [])
        self.write("harness/long.cpp", "namespace a {\nclass B {\n  B() : x_{1} {\n" + body + "}\n};\n}\n")
        self.expect("function", "harness/long.cpp", 3)

    def test_function_complexity(self):
        self.write("harness/branches.cpp", "int F(int x) {\n" + "  if (x && x) x++;\n" * 10 + "}\n")
        self.expect("function", "harness/branches.cpp", 1)

    def test_functions_by_brace(self):
        self.assertEqual(
            self.functions("template <class T, class = std::enable_if_t<(sizeof(T) > 2)>>\n"
                           "__global__ void __launch_bounds__(128, 2) Kernel(T p) {\n}\n"
                           "bool operator<(A a, B b) { return a.x < b.x; }\n"
                           "A::A(int x) try : x_(x), y_{x}\n{ } \n"
                           "static const int values[] = {1, 2, 3};\nA a = Make({1, 2});\n"
                           "extern \"C\" {\nint Plain(void (*f)(int)) { return 0; }\n}\n"
                           "RETABLE_REGISTER(X, y, {.make = [](int p) { return p; }});\n"),
            {"Kernel", "operator<", "A", "Plain"})

    def test_launch_struct_by_name(self):
        fields = "".join(f"  const float* __restrict__ p{i} = nullptr;\n" for i in range(9))
        inner = "  struct Rows {\n    int a, b, c;\n  } rows;\n"
        self.write("algorithms/shuffle/ten.cuh", "struct TenLaunch {\n" + fields + inner + "};\n")
        self.assertEqual(self.found(), [])
        self.write("algorithms/shuffle/more.cuh", "struct MoreLaunch {\n" + fields + "  int a, b;\n};\n")
        self.expect("launch", "algorithms/shuffle/more.cuh", 1)

    def test_launch_struct_by_use(self):
        fields = "".join(f"  std::vector<int> v{i};\n" for i in range(11))
        self.write("algorithms/shuffle/call.cuh", "struct Call {\n" + fields + "};\n")
        self.assertEqual(self.found(), [])
        self.write("algorithms/shuffle/use.cu", '#include "algorithms/shuffle/call.cuh"\n'
                   "template <class T>\n__global__ void K(const Call call, const Other* other) {}\n")
        self.expect("launch", "algorithms/shuffle/call.cuh", 1)

    def test_include_circle(self):
        self.write("algorithms/shuffle/a/x.hpp", '#include "algorithms/shuffle/b/y.hpp"\n')
        self.write("algorithms/shuffle/b/y.hpp", '#include "algorithms/shuffle/a/x.hpp"\n')
        self.expect("include", "algorithms/shuffle/a/x.hpp")

    def test_module_circle(self):
        self.write("harness/x.cpp", '#include "harness/x.hpp"\n#include "harness/y.hpp"\n')
        self.write("harness/x.hpp", "")
        self.write("harness/y.hpp", '#include "harness/x.hpp"\n')
        self.expect("include", "harness/x.cpp")

    def test_private_names(self):
        one = "namespace {\nstruct Part {\n  int a;\n};\nconstexpr int kMany = 3;\nint Sum(int a, int b) {\n  return a + b;\n}\n"
        self.write("harness/run/a.cpp", one + "}  // namespace\n")
        self.write("harness/plan/b.cpp", "namespace {\nint Sum(int a) {\n  return a;\n}\n}  // namespace\n")
        self.write("harness/plan/c_test.cpp", one + "}  // namespace\n")
        self.write("datasets/d.cpp", one + "}  // namespace\n")
        self.assertEqual(self.found(), [])
        self.write("harness/report/e.cpp", one + "}  // namespace\n")
        self.expect("private", "harness/run/a.cpp", 2, 3)

    def test_included_source(self):
        self.write("harness/x.cpp", "")
        self.write("harness/y.cpp", '\n#include "harness/x.cpp"\n')
        self.expect("include", "harness/y.cpp", 2)

    def test_cell(self):
        self.write("algorithms/shuffle/README.md", "# S\n\n| a |\n|---|\n| " + "w " * 26 + "|\n")
        self.expect("cell", "algorithms/shuffle/README.md", 5)

    def test_words(self):
        self.write("datasets/a.cpp", 'void Refine();\nconst char* text = "own_classes";\n')
        self.write("docs/lab/shuffle/001-x.md", "own classes\n")
        self.assertEqual(self.found(), [])
        self.write("datasets/b.cpp", "\nint HasOwnClasses();\n")
        self.write("datasets/c.cpp", "\n// of own classes\n")
        self.write("docs/d.md", "\nits own classes\n")
        self.write("harness/e.cpp", "\nint refine_all;\n")
        self.write("datasets/own_classes.cpp", "")
        found = self.found()
        self.assertEqual([f[0] for f in found], ["datasets/b.cpp", "datasets/c.cpp", "datasets/own_classes.cpp",
                                                 "docs/d.md", "harness/e.cpp"])
        self.assertEqual({f[2] for f in found}, {"word"})
        self.assertEqual([f[1] for f in found], [2, 2, 1, 2, 2])

    def test_words_spare_registered_names(self):
        self.write("experiments/shuffle/a.toml", 'name = "X-refine"\n')
        self.write("algorithms/shuffle/a.cpp", 'RETABLE_REGISTER(Shuffler, x, {.name = "X-refine"});\n')
        self.write("harness/e.hpp", "// As X-refine does.\n")
        self.assertEqual(self.found(), [])

    def test_comment(self):
        self.write("harness/a.hpp", "struct A {\n  int n = 0;  //!< of rows\n  int m = 0;  //!< offset of rows\n};\n")
        self.expect("comment", "harness/a.hpp", 2)

    def test_artifact(self):
        self.write("algorithms/shuffle/a.cpp", '\nRETABLE_REGISTER(\n    Shuffler, x,\n    {.name = "X"});\n')
        self.expect("artifact", "algorithms/shuffle/a.cpp", 2)
        self.write("experiments/shuffle/beyond/a.toml", 'algorithms = ["X"]\n')
        self.assertEqual(self.found(), [])

    def test_only_and_prefixes(self):
        self.write("harness/a.hpp", "int n = 0;  //!< of rows\n")
        self.assertEqual(self.found("files"), [])
        self.assertEqual(check_shape.check(self.root, ["comment"], ["datasets/"]), [])
        self.assertEqual(len(check_shape.check(self.root, ["comment"], ["harness/"])), 1)


if __name__ == "__main__":
    unittest.main()
