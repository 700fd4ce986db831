#!/usr/bin/env python3
"""Checks the shape of the tree: docs/contributing.md states the rules and their reasons.

usage: check_shape.py [--only KIND,...] [--root ROOT] [PATH_PREFIX ...]

  files      at most 25 source files in a folder
  prefix     no file-name prefix shared by four source files of a folder
  function   production functions of at most 80 lines and cyclomatic complexity 20
  launch     structs passed to kernels of at most 10 fields
  include    no include circle; .cpp and .cu files are never included
  cell       README table cells of at most 25 words
  word       no banned word of docs/glossary.md in names, comments and pages
  comment    no field comment that opens with a bare connective
  artifact   every registered method appears in an experiment
  private    no name of an unnamed namespace in two files that may be compiled as one

Path prefixes restrict what is reported, not what is read. Exit status 1 on a violation.
"""

import argparse
import bisect
import collections
import graphlib
import os
import pathlib
import re
import sys

KINDS = ("files", "prefix", "function", "launch", "include", "cell", "word", "comment", "artifact", "private")
TOPS = ("algorithms", "apps", "base", "baselines", "datasets", "experiments", "harness", "include",
        "library", "python")
ENDINGS = {".hpp", ".cpp", ".cuh", ".cu"}
MOST_FILES = 25
MOST_SHARING = 3
MOST_LINES = 80
MOST_COMPLEXITY = 20
MOST_FIELDS = 10
MOST_WORDS = 25

# Methods without an experiment of their own, with the reason.
NO_ARTIFACT = {
    "TreeShap": "the reference of the other explainers' tests",
    "Sorted": "the exact answer that the other sketches' errors are taken from",
}
# Functions that are declared tables: data, one entry after the other. Others bear a comment
# "Declared table: why".
TABLES = {
    "MakeSchema": "every key of an experiment's TOML, declared once",
}

# ---------------------------------------------------------------------------------------- reading

LITERAL = re.compile(
    r'//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/'          # comments
    r'|\bu?8?R"([^()\\\s]{0,16})\(.*?\)\1"'        # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                       # strings
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",      # characters, but no digit separators
    re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\[^\n])*", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


class Source:
    """One file: its text, the code alone, and the comments alone, all of the same length."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")
        code, words, last = [], [], 0
        for match in LITERAL.finditer(self.text):
            before = self.text[last:match.start()]
            code += [before, blank(match.group())]
            # Comments may hold banned words; strings are data.
            words += [before, match.group() if match.group()[0] == "/" else blank(match.group())]
            last = match.end()
        code.append(self.text[last:])
        words.append(self.text[last:])
        self.code = "".join(code)
        self.words = "".join(words)
        self.newlines = [m.start() for m in re.finditer("\n", self.text)]

    def line(self, position):
        return bisect.bisect_left(self.newlines, position) + 1

    @property
    def is_test(self):
        folders = self.name.split("/")[:-1]
        return "testing" in folders or re.search(r"_(test|testing|fuzz|fuzz_body)\.", self.name) is not None


class Tree:
    def __init__(self, root):
        self.root = root
        self.sources = [Source(root, p) for p in self.walk(TOPS) if p.suffix in ENDINGS]
        self.by_name = {s.name: s for s in self.sources}

    def walk(self, tops):
        """Files below the tops, in order; hidden folders and builds left out."""
        for top in tops:
            for folder, folders, names in os.walk(self.root / top):
                folders[:] = sorted(f for f in folders if not f.startswith((".", "build", "__")))
                yield from (pathlib.Path(folder) / n for n in sorted(names))

    def pages(self):
        for path in self.walk([""]):
            name = path.relative_to(self.root).as_posix()
            if path.suffix == ".md" and not name.startswith(("docs/lab/", "results/", "shared/")):
                yield name, path.read_text(encoding="utf-8")

    def includes(self, source):
        """(position, name) of each file of the tree that a source includes."""
        for match in INCLUDE.finditer(source.text):
            beside = os.path.normpath(os.path.join(os.path.dirname(source.name), match.group(1)))
            for name in (match.group(1), beside):
                if name in self.by_name:
                    yield match.start(), name
                    break


# --------------------------------------------------------------------------- folders and includes


def check_files(tree):
    folders = collections.Counter(os.path.dirname(s.name) for s in tree.sources)
    for folder, count in sorted(folders.items()):
        if count > MOST_FILES:
            yield f"{folder}/", 1, f"{count} source files, at most {MOST_FILES}: make folders"


def stem(name):
    return re.sub(r"_(test|fuzz)$", "", os.path.basename(name).split(".")[0])


def check_prefix(tree):
    groups = collections.defaultdict(set)
    for source in tree.sources:
        groups[os.path.dirname(source.name), stem(source.name).split("_")[0]].add(stem(source.name))
    for (folder, prefix), stems in sorted(groups.items()):
        if len(stems) > MOST_SHARING:
            yield (f"{folder}/", 1, f"{len(stems)} files share the prefix \"{prefix}\": make a folder of "
                   + ", ".join(sorted(stems)))


def circles(edges):
    """Circles of more than one node, no node in two of them: another shows once the first is gone."""
    graph, found = {node: set(targets) - {node} for node, targets in edges.items()}, []
    while True:
        try:
            graphlib.TopologicalSorter({node: sorted(graph[node]) for node in graph}).prepare()
            return found
        except graphlib.CycleError as error:
            circle = set(error.args[1])
            found.append(sorted(circle))
            graph = {node: targets - circle for node, targets in graph.items() if node not in circle}


def check_include(tree):
    edges = {}
    modules = collections.defaultdict(set)  # a header and its implementation are one module
    for source in tree.sources:
        targets = []
        for position, name in tree.includes(source):
            targets.append(name)
            if name.endswith((".cpp", ".cu")):
                yield source.name, source.line(position), f"includes {name}: include a header"
            if name == source.name:
                yield source.name, source.line(position), "includes itself"
        edges[source.name] = targets
        if not source.is_test:
            modules[name_of(source.name)].update(name_of(t) for t in targets)
    files = circles(edges)
    for component in files:
        yield component[0], 1, "include circle: " + ", ".join(component) + ": move what both need"
    inside = {name_of(n) for component in files for n in component}
    for component in circles(modules):
        if not inside & set(component):
            yield (first_file(tree, component[0]), 1, "modules include each other: " + ", ".join(component)
                   + ": callees must not know their callers")


def name_of(name):
    """The module of a file: a .cpp belongs to its .hpp, a .cu to its .cuh."""
    return re.sub(r"\.cpp$", ".hpp", re.sub(r"\.cu$", ".cuh", name))


def first_file(tree, module):
    return next(s.name for s in tree.sources if name_of(s.name) == module)


# -------------------------------------------------------------------------- functions and structs

TOKEN = re.compile(r"[{}();]|^[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b", re.MULTILINE)
TYPE = re.compile(r"(?:typedef\s+)?(?:class|struct|union|enum)\b")
# Parts of a declaration whose parentheses are no parameter list.
DECORATION = re.compile(r"\[\[.*?\]\]|\b(?:__launch_bounds__|alignas|__align__|__attribute__|decltype|noexcept|"
                        r"explicit|requires)\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))", re.DOTALL)
ACCESS = re.compile(r"\s*(?:public|private|protected)\s*:(?!:)")
BRANCH = re.compile(r"\b(?:if|for|while|case|catch)\b|(?<=\s)&&|\|\||\?")
NAME = re.compile(r"(operator\s*(?:\(\s*\)|[^\s\w(]+|\w+)|~?\w+)\s*\(")
MARKER = re.compile(r"//!?\s*Declared table:\s*\S")

Function = collections.namedtuple("Function", "name begin end body header")
Struct = collections.namedtuple("Struct", "name begin body_begin body_end")


def without_template(header):
    """The declaration without its template and requires clauses in front."""
    header = header.lstrip()
    while header.startswith("template"):
        depth = 0
        for i, c in enumerate(header):
            if c == "<":
                depth += 1
            elif c == ">" and header[i - 1] != "-":
                depth -= 1
                if depth == 0:
                    header = header[i + 1:].lstrip()
                    break
        else:
            return header
    return header


def after_parameters(declaration):
    """What follows the first parenthesised group: qualifiers, a return type, or initialisers."""
    depth, begin = 0, declaration.find("(")
    for i in range(max(begin, 0), len(declaration)):
        depth += {"(": 1, ")": -1}.get(declaration[i], 0)
        if depth == 0 and declaration[i] == ")":
            # operator()(...) has two groups.
            rest = declaration[i + 1:]
            if rest.lstrip().startswith("(") and re.search(r"operator\s*\(\s*$", declaration[:i]):
                return after_parameters(rest)
            return rest
    return ""


def classify(header, inside_function):
    """What the brace after this text opens: namespace, type, function, part (of the declaration, which
    goes on behind it) or block."""
    if inside_function:
        return "block"
    text = header
    while (match := ACCESS.match(text)) is not None:
        text = text[match.end():]
    text = DECORATION.sub(" ", without_template(text)).strip()
    if re.match(r"(?:inline\s+)?namespace\b|extern\s*$", text):
        return "namespace"
    if TYPE.match(text) and "(" not in text.split(":")[0] and "=" not in text:
        return "type"
    if "(" not in text:
        return "part"
    before = text.split("(", 1)[0]
    if "=" in before and "operator" not in before:
        return "part"
    tail = after_parameters(text)
    if re.match(r"\s*[^-]*(?<!:):(?!:)", tail) and re.search(r"[\w>]\s*$", tail):
        return "part"  # a member's initialiser in braces
    if re.search(r"=\s*$", tail):
        return "part"
    return "function"


def scan(source):
    """Functions and structs of a source by its braces."""
    code = source.code
    functions, structs = [], []
    # Directives have no braces that count; conditions are kept for their branches.
    code = DIRECTIVE.sub(lambda m: m.group() if re.match(r"\s*#\s*(if|el|endif)", m.group()) else blank(m.group()),
                         code)
    stack = []        # (kind, header's begin, brace's position, parentheses around it)
    saved = []        # the state at each #if, for its other branches
    parens, begin, inside = 0, 0, 0
    for match in TOKEN.finditer(code):
        token, at = match.group(), match.start()
        if match.group(1):
            word = match.group(1)
            if word.startswith("if"):
                saved.append((list(stack), parens, begin, inside))
            elif word.startswith("el") and saved:
                stack, parens, begin, inside = saved[-1]
                stack = list(stack)
            elif word == "endif" and saved:
                saved.pop()
            if parens == 0:
                begin = code.find("\n", match.end())
                begin = len(code) if begin < 0 else begin
            continue
        if token == "(":
            parens += 1
        elif token == ")":
            parens = max(0, parens - 1)
        elif token == ";":
            if parens == 0:
                begin = match.end()
        elif token == "{":
            within = parens or (stack and stack[-1][0] in ("block", "part"))
            kind = "block" if within else classify(code[begin:at], inside > 0)
            stack.append((kind, begin, at, parens))
            inside += kind == "function"
            if kind != "part" and not parens:
                begin = match.end()
            parens = 0
        elif stack:
            kind, header_begin, opened, parens = stack.pop()
            header = code[header_begin:opened]
            if kind == "function":
                inside -= 1
                functions.append(function(header, header_begin, opened, match.end()))
            elif kind == "type" and re.search(r"\bstruct\b", header):
                name = re.match(r"(?:.*?)\bstruct\b(?:\s|alignas\([^)]*\)|__align__\([^)]*\))*(\w+)",
                                without_template(header), re.DOTALL)
                if name:
                    structs.append(Struct(name.group(1), header_begin + header.rfind("struct"), opened + 1, at))
            if parens == 0:
                begin = header_begin if kind == "part" else match.end()
    return functions, structs, code


def function(header, header_begin, opened, end):
    text = DECORATION.sub(lambda m: blank(m.group()), header)
    plain = without_template(text)
    shift = len(text) - len(plain)
    match = NAME.search(plain)
    begin = header_begin + shift + (len(plain) - len(plain.lstrip()))
    return Function(match.group(1) if match else "lambda", begin, end, opened, plain)


def complexity(code):
    return 1 + len(BRANCH.findall(code))


def check_function(tree):
    for source in tree.sources:
        if source.is_test:
            continue
        functions, _, code = source.scanned
        for f in functions:
            first, last = source.line(f.begin), source.line(f.end)
            lines, branches = last - first + 1, complexity(code[f.body:f.end])
            if (lines <= MOST_LINES and branches <= MOST_COMPLEXITY) or f.name in TABLES:
                continue
            start = source.newlines[first - 5] if first >= 5 else 0
            if MARKER.search(source.text[start:f.end]):
                continue
            yield (source.name, first, f"{f.name}: {lines} lines, complexity {branches}; at most {MOST_LINES} and "
                   f"{MOST_COMPLEXITY}: extract functions")


def fields(code, struct):
    """The number of fields of a struct, those of structs inside of it left out."""
    body = code[struct.body_begin:struct.body_end]
    # Whatever stands in braces or parentheses holds no field.
    for open_, close in ("{}", "()", "[]"):
        pattern = re.compile(re.escape(open_) + "[^" + re.escape(open_ + close) + "]*" + re.escape(close))
        mark = "\0" if open_ == "(" else ("\1;" if open_ == "{" else "")
        while (changed := pattern.sub(mark, body)) != body:
            body = changed
    while (changed := re.sub(r"<[^<>;]*>", "", body)) != body:
        body = changed
    body = re.sub(r"\b(public|private|protected)\s*:(?!:)|\b(alignas|__align__)\s*\0", "", body)
    count = 0
    for statement in re.sub("\1;(?=[ \n]*[;,=])", "", body).split(";"):
        statement = statement.strip().rstrip("\1").strip()
        left = statement.split("=")[0]
        if not statement or "\0" in left or "operator" in left:
            continue
        if re.match(r"(static|using|typedef|friend|template|struct|class|enum|union|static_assert)\b", statement):
            continue
        if not re.match(r"[\w:&*\s,]+$", left.strip()) or not re.search(r"\w[\s*&]+\w", left):
            continue
        count += 1 + left.count(",") if "=" not in statement else 1 + len(re.findall(r",\s*\**\w+\s*(?==|$|,)", statement))
    return count


def parameters(header):
    """The types of a function's parameters that are passed by value."""
    text = header[header.find("(", NAME.search(header).start()) + 1:header.rfind(")")]
    while (changed := re.sub(r"<[^<>]*>", "", text)) != text:
        text = changed
    for part in text.split(","):
        if "*" not in part and "&" not in part:
            words = re.findall(r"[\w:]+", re.sub(r"\b(const|__grid_constant__|typename|__restrict__)\b", "", part))
            if words:
                yield words[0].split("::")[-1]


def check_launch(tree):
    defined = collections.defaultdict(list)
    for source in tree.sources:
        for struct in source.scanned[1]:
            defined[struct.name].append((source, struct))
    wanted = {(s.name, d.body_begin): (s, d) for name, found in defined.items() if name.endswith("Launch") for s, d in found}
    for source in tree.sources:
        if not source.name.endswith((".cu", ".cuh")):
            continue
        reached = None
        for f in source.scanned[0]:
            if "__global__" not in f.header or not NAME.search(f.header):
                continue
            for name in parameters(f.header):
                for where, struct in defined.get(name, ()):
                    reached = reached or reach(tree, source)
                    if where.name in reached:
                        wanted[where.name, struct.body_begin] = (where, struct)
    for source, struct in wanted.values():
        count = fields(source.scanned[2], struct)
        if count > MOST_FIELDS:
            yield (source.name, source.line(struct.begin), f"{struct.name} has {count} fields and is passed to kernels; "
                   f"at most {MOST_FIELDS}: nest structs (Rows, Output)")


def reach(tree, source):
    found, open_ = {source.name}, [source]
    while open_:
        for _, name in tree.includes(open_.pop()):
            if name not in found:
                found.add(name)
                open_.append(tree.by_name[name])
    return found


# ------------------------------------------------------------------------------- words and pages


def check_cell(tree):
    for name, text in tree.pages():
        if os.path.basename(name) != "README.md":
            continue
        fenced = False
        for number, line in enumerate(text.split("\n"), 1):
            fenced ^= line.lstrip().startswith("```")
            if fenced or not line.startswith("|"):
                continue
            for cell in re.split(r"(?<!\\)\|", line)[1:-1]:
                words = len(re.sub(r"\]\([^)]*\)", "]", re.sub(r"<!--.*?-->", "", cell)).split())
                if words > MOST_WORDS:
                    yield (name, number, f"a table cell of {words} words, at most {MOST_WORDS}: move it to a paragraph: "
                           f"\"{' '.join(cell.split()[:6])} ...\"")


def banned(tree):
    """[(pattern, word, what to use, path prefixes)] from the last table of docs/glossary.md."""
    page = tree.root / "docs/glossary.md"
    if not page.is_file():
        return []
    entries, reading = [], False
    for line in page.read_text(encoding="utf-8").split("\n"):
        if line.startswith("#"):
            reading = line.lower().startswith("## banned words")
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not reading or len(cells) < 3 or set(cells[0]) <= set("-: ") or cells[0] == "word":
            continue
        prefixes = tuple(p for p in re.split(r"[,\s]+", cells[2].replace("`", "")) if p)
        for word in cells[0].split(","):
            word = word.strip().strip("`")
            parts = [re.escape(p) for p in spaced(word).split()]
            entries.append((" ".join(parts), word, cells[1].replace("`", ""), prefixes))
    return entries


def spaced(text):
    """Names as words: OwnClasses and own_classes are "own classes"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", text).lower()


def check_word(tree):
    entries = banned(tree)
    methods = {m for s in tree.sources for m in REGISTRATION.findall(s.text)}
    # Experiment ids are public names too.
    methods |= {p.read_text(encoding="utf-8").split('id = "', 1)[-1].split('"')[0].split("/")[-1]
                for p in tree.walk(["experiments"]) if p.suffix == ".toml"}
    methods = {m for m in methods if any(re.search(rf"\b{e[0]}\b", spaced(m)) for e in entries)}
    names = re.compile("|".join(map(re.escape, sorted(methods))) or r"(?!)")
    texts = [(s.name, s.words) for s in tree.sources]
    texts += [(n, t) for n, t in tree.pages() if n != "docs/glossary.md"]
    for name, text in texts:
        # Line 0 is the file's own name.
        text = name.rsplit(".", 1)[0] + "\n" + names.sub("", text)
        lower = text.lower()
        here = [e for e in entries
                if (not e[3] or name.startswith(e[3])) and all(part in lower for part in e[0].split())]
        if not here:
            continue
        pattern = re.compile(r"\b(?:k )?(?:" + "|".join(f"({e[0]}s?)" for e in here) + r")\b")
        text = spaced(text)
        seen = set()
        for match in pattern.finditer(text):
            number = max(1, text.count("\n", 0, match.start()))
            _, word, use, _ = here[match.lastindex - 1]
            if (number, word) not in seen:
                seen.add((number, word))
                yield name, number, f"banned word \"{word}\": use {use}"


CONNECTIVE = re.compile(r"//!<\s*(of|for|in|that|which|with|by|to|and|or|where|from)\b")


def check_comment(tree):
    for source in tree.sources:
        for match in CONNECTIVE.finditer(source.text):
            yield (source.name, source.line(match.start()), f"the field comment opens with \"{match.group(1)}\": put the "
                   "noun into the name, and write a sentence or a noun phrase")


# -------------------------------------------------------------------------------------- artifacts

REGISTRATION = re.compile(r'^[ \t]*RETABLE_REGISTER\(.{0,160}?\.name = "([^"]+)"', re.MULTILINE | re.DOTALL)


def check_artifact(tree):
    text = "\n".join(p.read_text(encoding="utf-8") for p in tree.walk(["experiments"]) if p.suffix == ".toml")
    named = set(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text))
    for source in tree.sources:
        if not source.name.startswith(("algorithms/", "baselines/")) or source.is_test:
            continue
        for match in REGISTRATION.finditer(source.text):
            if match.group(1) not in named and match.group(1) not in NO_ARTIFACT:
                yield (source.name, source.line(match.start()), f"method \"{match.group(1)}\" is in no experiment: add a row "
                       "to a TOML file, or remove the method")


# ------------------------------------------------------------------------------------ private names

UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# A type, a constant, or a function with its parameters: aliases may repeat.
PRIVATE = re.compile(
    r"^(?:template <[^\n]*>\n)?(?:struct|class|enum(?: class)?) (\w+)(?= |\{)(?![^\n]*;)"
    r"|^(?:constexpr|const|static|inline|volatile)\b[^;=(\n]*?(\w+)(?:\[[^\]]*\])? ?[={]"
    r"|^[A-Za-z_][\w:<>,&* ]*?[ &*](\w+\([^)]*\))(?: const)? \{", re.MULTILINE)


def library(name):
    """The library whose files cmake/RetableTargets.cmake compiles in groups, and whether it is the tests'."""
    folders = name.split("/")[:-1]
    depth = 2 if folders[0] in ("algorithms", "apps", "baselines", "experiments") else 1
    return "/".join(folders[:depth]), name.endswith("_test.cpp")


def check_private(tree):
    alone = set()  # named with options of their own, or to stand alone
    for path in tree.walk(TOPS + ("cmake",)):
        if path.name in ("RetableTargets.cmake", "build.cmake"):
            folder = "" if path.parent.name == "cmake" else path.parent.relative_to(tree.root).as_posix() + "/"
            alone |= {folder + n.lstrip("/") for n in re.findall(r"[\w/]+\.cpp", path.read_text(encoding="utf-8"))}
    first = {}
    for source in tree.sources:
        if not source.name.endswith(".cpp") or source.name in alone or source.name.endswith("_fuzz.cpp"):
            continue
        for block in UNNAMED.finditer(source.text):
            for match in PRIVATE.finditer(source.code, block.start(1), block.end(1)):
                name = re.sub(r"\s*\w+(?=[,)])|\s+", " ", match.group(match.lastindex))
                key = library(source.name), name
                if first.setdefault(key, source.name) != source.name:
                    yield (source.name, source.line(match.start()), f"{name.strip()} is private to {first[key]} too, and "
                           "the files of a library are compiled in groups: take another name")


# ------------------------------------------------------------------------------------------- main


def check(root, only=KINDS, prefixes=()):
    """[(file, line, kind, what to do)] in order."""
    tree = Tree(root)
    if {"function", "launch"} & set(only):
        for source in tree.sources:
            source.scanned = scan(source)
    found = []
    for kind in only:
        for name, line, what in globals()["check_" + kind](tree):
            if not prefixes or name.startswith(tuple(prefixes)):
                found.append((name, line, kind, what))
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, comma separated")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path,
                        help="the tree to check; default: the one this script is in")
    parser.add_argument("prefixes", nargs="*", help="report paths that begin so")
    arguments = parser.parse_args()
    only = [k for k in arguments.only.split(",") if k]
    if set(only) - set(KINDS):
        parser.error("kinds are " + ", ".join(KINDS))
    found = check(arguments.root.resolve(), only, [p.removeprefix("./") for p in arguments.prefixes])
    for name, line, kind, what in found:
        print(f"{name}:{line}: {kind}: {what}")
    counts = collections.Counter(kind for _, _, kind, _ in found)
    print(", ".join(f"{counts[k]} {k}" for k in KINDS if counts[k]) if found else "the tree has its shape")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
