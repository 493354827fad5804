#!/usr/bin/env bash
# Each file of bad/ must not compile, and the compiler's output must contain what its first line expects.
# Usage: bad.sh INCLUDE
set -uo pipefail
include=$1
here=$(cd "$(dirname "$0")" && pwd)
failed=0 seen=0
for compiler in g++ clang++-14; do
  for file in "$here"/bad/*.cc; do
    expected=$(sed -n '1s#^// expect: ##p' "$file")
    [[ -n $expected ]] || { echo "$file: its first line expects nothing"; failed=1; continue; }
    seen=$((seen + 1))
    if said=$("$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$include" "$file" 2>&1); then
      echo "$compiler compiles $file"; failed=1
    elif [[ $(tr -d '\n' <<< "$said" | tr -s ' ') != *"$expected"* ]]; then
      echo "$compiler says nothing of '$expected' for $file:"; head -20 <<< "$said"; failed=1
    fi
  done
done
[[ $seen -ge 10 ]] || { echo "only $seen snippets"; failed=1; }
exit $failed
