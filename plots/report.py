#!/usr/bin/python3
"""Draws the figures and writes report.html and report.md of a folder of results.

    python3 plots/report.py --out DIR [--recorded build/recorded] [--only GLOB]
    python3 plots/report.py --site DIR --recorded build/recorded

Reads DIR and, to stand beside it, the folders of recorded runs (`retable record --tables` makes them); nothing else. What is missing is named on
the page. Exit: 0 written; 1 the folder cannot be written to or does not exist.
"""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    from retable_report import inputs, markdown, model, page, render, site
except ImportError as error:
    sys.exit(f"report: {error}; install it with: apt-get install python3-matplotlib python3-jinja2")


def write_site(options, say):
    """The site of the recorded runs. @return the exit code"""
    if not os.path.isdir(options.recorded):
        print(f"report: {options.recorded or 'no folder'} is not a folder of recorded runs; give it with --recorded", file=sys.stderr)
        return 1
    try:
        pages = site.write(options.recorded, options.site, options.out, say)
    except OSError as error:
        print(f"report: cannot write to {options.site}: {error.strerror or error}; free the space or give another folder", file=sys.stderr)
        return 1
    say(f"{os.path.join(options.site, 'index.html')} and {pages - 1} more pages")
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", metavar="DIR", help="folder of results, read and written; with --site, where figures are kept for the next time")
    parser.add_argument("--site", metavar="DIR", help="write the recorded runs as a static site into DIR instead")
    parser.add_argument("--recorded", metavar="DIR", default="", help="folder of recorded runs, one folder a machine")
    parser.add_argument("--only", metavar="GLOB", default="*", help="only artifacts with this name, such as 'quantiles/*'")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    options = parser.parse_args(arguments)
    say = (lambda line: None) if options.quiet else (lambda line: print(line, flush=True))
    if options.site:
        return write_site(options, say)
    if not options.out or not os.path.isdir(options.out):
        print(f"report: {options.out} is not a folder; give the folder of a run with --out", file=sys.stderr)
        return 1
    started = time.monotonic()
    report = inputs.read_report(options.out, options.only)
    inputs.attach_recorded(report, options.recorded, options.only)
    model.stamp_recorded(report)
    try:
        notes = render.render(report, say)
        render.write_atomically(os.path.join(options.out, "report.html"), page.build(report, notes))
        render.write_atomically(os.path.join(options.out, "report.md"), markdown.build(report, notes))
    except OSError as error:
        print(f"report: cannot write to {options.out}: {error.strerror or error}; free the space or give another folder", file=sys.stderr)
        return 1
    for problem in report.problems:
        say(f"note: {problem}")
    say(f"{os.path.join(options.out, 'report.html')} ({time.monotonic() - started:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
