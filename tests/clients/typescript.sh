#!/usr/bin/env bash
# typescript.sh BINARY: checks the types of the TypeScript client, compiles it, and runs its tests against the binary.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$here/../../clients/typescript
PAWL_BINARY=$(realpath "${1:?which binary?}")
export PAWL_BINARY PAWL_APP=$here/app.yaml PAWL_README=$source/README.md PAWL_ROOT=$here/../..
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
tsc -p "$source" --outDir "$out/dist"
cp "$source/package.json" "$out/"
[[ $(cd "$source" && grep -c dependencies package.json) -eq 0 ]] || { echo "the client has a dependency" >&2; exit 1; }
cd "$out"
for file in dist/test/*.test.js; do node --test "$file"; done  # one after the other: on a server they share a store
