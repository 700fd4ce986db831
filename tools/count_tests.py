#!/usr/bin/env python3
"""Adds up CTest's JUnit reports; prints "N passed, N failed, N skipped" and exits 1 on a failure."""

import sys
import xml.etree.ElementTree as tree


def main(paths):
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for path in paths:
        try:
            suite = tree.parse(path).getroot()
        except (OSError, tree.ParseError) as problem:
            print(f"{path}: {problem}")
            total["failed"] += 1
            continue
        for case in suite.iter("testcase"):
            status = case.get("status")
            kind = {"run": "passed", "notrun": "skipped", "disabled": "skipped"}.get(status, "failed")
            total[kind] += 1
            if kind == "failed":
                print(f"failed: {case.get('name')} ({path})")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**total))
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
