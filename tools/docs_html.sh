#!/usr/bin/env bash
# docs_html.sh: pages of the public C++ headers under BUILD/docs-html, by Doxygen. Its warnings are errors.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
command -v doxygen >/dev/null || { echo "Doxygen is not installed: make docs-html" >&2; exit 1; }
mkdir -p "$BUILD/docs-html"
said=$(BUILD=$BUILD doxygen docs/Doxyfile 2>&1 >"$BUILD/docs-html.log") || { echo "$said" >&2; exit 1; }
echo "$BUILD/docs-html/index.html"
