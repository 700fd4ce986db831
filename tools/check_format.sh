#!/usr/bin/env bash
# Fails with the names of files that clang-format (version 14, Debian 12's) would change. Other
# versions format some corners differently, so that they only warn.
cd "$(dirname "$0")/.." || exit 1
program=$(command -v clang-format-14 || command -v clang-format) || { echo "clang-format is missing" >&2; exit 1; }
mapfile -t files < <(if [ -e .git ]; then git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh'
  else find . -path './build*' -prune -o -regex '.*\.\([ch]pp\|cuh?\)' -print; fi)
here=()
for file in "${files[@]}"; do [ -f "$file" ] && here+=("$file"); done
mapfile -t wrong < <(printf '%s\0' "${here[@]}" | xargs -0 -n 40 -P "$(nproc)" "$program" --dry-run -Werror 2>&1 |
  sed -nE 's/^(.*):[0-9]+:[0-9]+: (error|warning): code should be clang-formatted.*/\1/p' | sort -u)
[ "${#wrong[@]}" -eq 0 ] && { echo "${#files[@]} files are formatted"; exit 0; }
printf 'not formatted (clang-format -i): %s\n' "${wrong[@]}"
"$program" --version | grep -q "version 14" || { echo "only a warning: $("$program" --version)"; exit 0; }
exit 1
