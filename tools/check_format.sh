#!/usr/bin/env bash
# Fails with the names of files that clang-format (version 14, Debian 12's) would change. Other
# versions format some corners differently, so that they only warn.
cd "$(dirname "$0")/.." || exit 1
program=$(command -v clang-format-14 || command -v clang-format) || { echo "clang-format is missing" >&2; exit 1; }
mapfile -t files < <(git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh')
wrong=()
for file in "${files[@]}"; do
  [ -f "$file" ] && ! "$program" --dry-run -Werror "$file" >/dev/null 2>&1 && wrong+=("$file")
done
[ "${#wrong[@]}" -eq 0 ] && { echo "${#files[@]} files are formatted"; exit 0; }
printf 'not formatted (clang-format -i): %s\n' "${wrong[@]}"
"$program" --version | grep -q "version 14" || { echo "only a warning: $("$program" --version)"; exit 0; }
exit 1
