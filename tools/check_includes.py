#!/usr/bin/env python3
"""Checks who includes whom: the arrows of the house point one way.

experiments -> harness, algorithms, baselines, datasets
baselines   -> the interfaces in algorithms (headers of the same family), common
algorithms  -> algorithms/common and its own folder
harness     -> its own folder
datasets    -> algorithms/common
apps        -> anything
library     -> algorithms, and the public headers of include/
python      -> the public headers of include/
base        -> its own folder; everybody may include it
A family never includes another family, except where ALLOWED_FAMILIES says so.

And that a file, or a header of ours that it includes, names what it uses of the headers that a build
may read for it beforehand (RETABLE_PRECOMPILE), and declares the functions that it calls, which a file
compiled with it may do for it (RETABLE_UNITY): there the compiler does not miss them.
"""

import functools
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
TOPS = ("base", "algorithms", "baselines", "experiments", "datasets", "harness", "apps", "library", "include",
        "python")
ENDINGS = {".hpp", ".cpp", ".cu", ".cuh"}
# Shapley values of tree models need the exact reference of the tree family.
ALLOWED_FAMILIES = {("shapley", "treeshap")}


SYSTEM = re.compile(r'^\s*#\s*include\s+<([^>]+)>', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A function of a header, outside of classes; a call; what a file defines itself.
FUNCTION = re.compile(r"^[A-Za-z_][\w:<>, ]*[ &*]+([A-Z]\w*)\(", re.MULTILINE)
CALL = re.compile(r"(?<![.>\w:])([A-Z]\w*)\(")
DEFINED = re.compile(r"(?:\b(?!(?:return|else|case|throw)\b)\w+>*[&*]{0,2} +|(?<! )> |\]\] |::)([A-Z]\w*)\(|"
                     r"\b(?:struct|class|using|auto)(?: \w+::)? ?([A-Z]\w*)")
# What stands for the use of a header, and the headers that bring it.
USES = [
    (r"\b(TEST(_[FP])?|EXPECT_\w+|ASSERT_\w+)\(", "gtest/gtest.h"),
    (r"\bnlohmann::json\b", "nlohmann/json.hpp nlohmann/json_fwd.hpp"),
    (r"\bstd::[io]?fstream\b", "fstream"),
    (r"\bstd::[io]?stringstream\b", "sstream"),
    (r"\bstd::(multi)?map\b", "map"),
    (r"\bstd::(mt19937(_64)?|normal_distribution|uniform_(int|real)_distribution)\b", "random"),
    (r"\bstd::function\b", "functional"),
    (r"\bstd::((make_)?(unique|shared)(_ptr)?)<", "memory"),
    (r"\bstd::(stable_)?(sort|find_if|fill|copy|transform|lower_bound|nth_element)\(",
     "algorithm execution"),
    (r"\bstd::(sqrt|exp|log|pow|fma|isnan|isfinite|floor|ceil|cos|sin)\(", "cmath complex random"),
    (r"\bstd::vector\b", "vector"),
    (r"\bstd::(multi)?set\b", "set"),
    (r"\bstd::(optional|nullopt)\b", "optional"),
    (r"\bstd::span\b", "span"),
    (r"\bstd::filesystem\b", "filesystem"),
    (r"\bstd::chrono\b", "chrono"),
    (r"\bstd::(iota|accumulate|partial_sum)\(", "numeric"),
    (r"\bstd::array\b", "array"),
    (r"\bstd::(runtime_error|invalid_argument|logic_error|out_of_range)\b", "stdexcept"),
    (r"\bfmt::format\b", "fmt/format.h"),
    (r"\bstd::string\b",
     "string sstream fstream filesystem stdexcept iostream nlohmann/json.hpp gtest/gtest.h"),
]
USES = [(re.compile(pattern), set(headers.split())) for pattern, headers in USES]


def place(path):
    """(top folder, family) of a source or an include; family is '' where there is none."""
    parts = pathlib.PurePosixPath(path).parts
    top = parts[0]
    family = parts[1] if top in ("algorithms", "baselines", "experiments") and len(parts) > 2 else ""
    return top, family


def resolved(include):
    """An include as a path from the root: public headers are named as their users name them."""
    return "include/" + include if include.startswith("retable/") else include


def allowed(source, target):
    (top, family), (to, other) = place(source), place(target)
    if to not in (*TOPS, "plots"):
        return False  # includes are written from the root
    if top == "include":
        return to == "include"
    if top == "python":
        return to in ("include", "python")
    if to == "base":
        return True
    common = other == "common"
    same = family == other or (family, other) in ALLOWED_FAMILIES
    if top == "apps":
        return True
    if top == "library":
        return to in ("include", "algorithms")
    if top == "experiments":
        return to in ("harness", "datasets") or common or (
            to in ("algorithms", "baselines", "experiments") and (same or family == "common" and common))
    if top == "baselines":
        return to in ("algorithms", "baselines") and (same or common)
    if top == "algorithms":
        return to == "algorithms" and (same or common)
    if top == "datasets":
        return to == "datasets" or (to == "algorithms" and common)
    if top == "harness":
        return to == "harness"
    return False


def violations(root):
    found = []
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in ENDINGS:
                continue
            source = path.relative_to(root).as_posix()
            for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
                if not allowed(source, resolved(match.group(1))):
                    line = path.read_text(encoding="utf-8")[: match.start(1)].count("\n") + 1
                    found.append(f"{source}:{line}: must not include {match.group(1)}")
    return found


@functools.cache
def read(root, name):
    """A file's text without comments; '' where it is missing."""
    return COMMENT.sub("", (root / name).read_text(encoding="utf-8")) if (root / name).is_file() else ""


@functools.cache
def included(root, name):
    """The headers of ours that a file includes, itself or through others."""
    found = set()
    for header in map(resolved, INCLUDE.findall(read(root, name))):
        found |= {header} | included(root, header)
    return frozenset(found)


def brings(root, name):
    """All system headers that a file of ours includes, itself or through ours."""
    return {header for file in {name} | included(root, name) for header in SYSTEM.findall(read(root, file))}


def missing(text, brought):
    """(use, header) for each use of a common header that is not among those brought."""
    text = COMMENT.sub("", text)
    found = []
    for pattern, headers in USES:
        use = pattern.search(text)
        if use and not headers & brought:
            found.append((use.group(0), min(headers, key=len)))
    return found


@functools.cache
def functions(root, library):
    """{function: header} of what one header alone declares, of those of a library (as `place` gives it) and of base."""
    headers = {}
    for top in {library[0], "base"}:
        for path in (root / top).rglob("*.hpp"):
            header = path.relative_to(root).as_posix()
            if top == "base" or place(header) == library:
                for function in FUNCTION.findall(read(root, header)):
                    headers.setdefault(function, set()).add(header)
    return {function: min(found) for function, found in headers.items() if len(found) == 1}


def undeclared(text, headers, declared):
    """(function, header) for each call of a function that one header of `declared` alone has, and none that is included."""
    own = {name for names in DEFINED.findall(text) for name in names}
    return [(name, declared[name]) for name in sorted(set(CALL.findall(text)) - own)
            if name in declared and not any(re.search(rf"\b{name}\b", header) for header in headers)]


def forgotten(root):
    """Uses of common headers, and calls of functions of the same library or of base, whose header nothing includes."""
    found = []
    for top in TOPS:
        for path in sorted((root / top).rglob("*.cpp")):
            name = path.relative_to(root).as_posix()
            text, headers = read(root, name), [read(root, header) for header in included(root, name)]
            found += [f"{name}: uses {use}: include <{header}>" for use, header in missing(text, brings(root, name))]
            found += [f"{name}: calls {function}: include \"{header}\""
                      for function, header in undeclared(text, headers, functions(root, place(name)))]
    return found


def self_test():
    assert allowed("experiments/quantiles/a.cpp", "harness/plan/plan.hpp")
    assert allowed("baselines/quantiles/a.cpp", "algorithms/quantiles/quantile_sketch.hpp")
    assert allowed("algorithms/quantiles/a.cu", "algorithms/common/registry.hpp")
    assert allowed("datasets/a.cpp", "algorithms/common/philox.hpp")
    assert not allowed("algorithms/quantiles/a.cpp", "harness/plan/plan.hpp")
    assert not allowed("algorithms/quantiles/a.cpp", "baselines/quantiles/kll.hpp")
    assert not allowed("algorithms/quantiles/a.cpp", "algorithms/shuffle/shuffler.hpp")
    assert not allowed("harness/a.cpp", "algorithms/common/registry.hpp")
    public = ("include", "python")
    assert all(allowed(f"{top}/a.cpp", "base/parallel.hpp") != (top in public) for top in TOPS)
    assert allowed("python/src/a.cpp", resolved("retable/shuffle.hpp"))
    assert not allowed("include/retable/a.hpp", "algorithms/common/registry.hpp")
    assert not allowed("library/a.cpp", "harness/plan/plan.hpp")
    assert not any(allowed("base/a.cpp", f"{top}/a.hpp") for top in TOPS if top != "base")
    assert not allowed("datasets/a.cpp", "harness/report/csv.hpp")
    assert not allowed("algorithms/quantiles/a.cpp", "niae.hpp")
    assert missing("std::map<int, int> m;", {"vector"}) == [("std::map", "map")]
    assert not missing("std::map<int, int> m;", {"map"})
    assert not missing("// std::map", set())
    declared = {"Other": "harness/other.hpp"}
    assert undeclared("int x = Other(1);", ["int Mine();"], declared) == [("Other", "harness/other.hpp")]
    assert not undeclared("int x = Other(1);", ["int Other(int);"], declared)
    assert not undeclared("int Other(int) {}\nint x = Other(1);", [], declared)
    assert not undeclared("x.Other(1); y::Other(2);", [], declared)
    assert undeclared("bool x = y && Other(1); return Other(2);", [], declared)


if __name__ == "__main__":
    self_test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    lines = violations(root) + forgotten(root)
    print("\n".join(lines) if lines else "include directions hold")
    sys.exit(1 if lines else 0)
