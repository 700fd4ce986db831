#!/usr/bin/env python3
"""Checks that every relative link in the Markdown files leads somewhere: a file or folder of the tree,
and where the link names a heading (page.md#heading) a heading of that page.

usage: check_links.py [ROOT]
"""

import pathlib
import re
import subprocess
import sys

# Code, indented by fences or between backquotes, holds no links.
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def blank(match):
    """The same number of lines with nothing on them, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group())


def anchors(page):
    """The names that headings of a page go by: lower case, no punctuation, hyphens for spaces."""
    names = {}
    for heading in HEADING.findall(FENCE.sub(blank, page.read_text(encoding="utf-8"))):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        count = names[name] = names.get(name, -1) + 1
        yield f"{name}-{count}" if count else name


def broken(root, page):
    """(line, link, why) of every link of a page that leads nowhere."""
    text = FENCE.sub(blank, page.read_text(encoding="utf-8"))
    text = CODE.sub(blank, text)
    for match in [*LINK.finditer(text), *REFERENCE.finditer(text)]:
        link = match.group(1)
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        line = text.count("\n", 0, match.start(1)) + 1
        if path.startswith("/") or root not in [target, *target.parents]:
            yield line, link, "leads out of the tree"
        elif not target.exists():
            yield line, link, "no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield line, link, "no such heading"


def pages(root):
    """The Markdown files that git knows of, or where there is no git all but those of builds."""
    found = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"],
                           capture_output=True, text=True, check=False)
    if found.returncode == 0 and (root / ".git").exists():  # not an archive within another repository
        return [root / name for name in found.stdout.split("\n") if name]
    return [p for p in root.rglob("*.md") if not p.relative_to(root).parts[0].startswith(("build", "."))]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    # The text of a report, which a test expects, has its figures beside the report.
    every = sorted(page for page in pages(root) if page.exists() and page != root / "plots/tests/golden.md")
    wrong = [f"{page.relative_to(root)}:{line}: {link}: {why}"
             for page in every for line, link, why in broken(root, page)]
    print("\n".join(wrong) if wrong else f"the links of {len(every)} pages lead somewhere")
    return 1 if wrong or not every else 0


if __name__ == "__main__":
    sys.exit(main())
