#!/usr/bin/env bash
# Installs a build into a temporary directory, and builds and runs a program against it: by the CMake package, by
# pkg-config, and by the installed binary.   run.sh BUILD_DIR [CMake arguments of the project...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cmake --install "$build" --prefix "$dir/prefix" > /dev/null

cmake -S "$here" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/prefix" "$@" > "$dir/log" || { cat "$dir/log"; exit 1; }
cmake --build "$dir/cmake" > "$dir/log" || { cat "$dir/log"; exit 1; }
for program in outside outside_nlohmann; do
  [[ $("$dir/cmake/$program" "$dir/$program.db") == "hello world" ]] || { echo "the CMake program $program failed"; exit 1; }
done

pc=$(dirname "$(find "$dir/prefix" -name pawl.pc)")
export PKG_CONFIG_PATH=$pc
# shellcheck disable=SC2046
c++ -std=c++20 "$here/main.cc" -o "$dir/by_pkg_config" $(pkg-config --cflags --libs --static pawl)
[[ $("$dir/by_pkg_config" "$dir/pkg.db") == "hello world" ]] || { echo "the pkg-config program failed"; exit 1; }

"$dir/prefix/bin/pawl" demo --pace 1 --store "$dir/demo.db" > /dev/null
echo "installed, found by CMake and pkg-config, and run"
