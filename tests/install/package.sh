#!/usr/bin/env bash
# Makes the packages of `make package` and looks into them: the binary runs, and the library's package has everything
# that a program needs.   package.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "$*"; exit 1; }

cd "$build"
cpack -B "$dir/out" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
for package in pawl libpawl-dev; do
  dpkg-deb -x "$dir/out/${package}"_*.deb "$dir/unpacked" || fail "there is no package $package"
done
dpkg-deb -f "$dir/out"/pawl_*.deb Depends | grep -q libsqlite3-0 || fail "pawl does not name the libraries that it needs"

"$dir/unpacked/usr/bin/pawl" --version > /dev/null || fail "the packaged binary does not run"
[[ -x $dir/unpacked/usr/bin/pawl && -f $dir/unpacked/usr/include/pawl/pawl.h ]] || fail "the header or the binary is missing"
[[ -n $(find "$dir/unpacked" -name libpawl.a) && -n $(find "$dir/unpacked" -name pawl-config.cmake) && \
   -n $(find "$dir/unpacked" -name pawl.pc) ]] || fail "the library's package lacks the library, pawl.pc or pawl-config.cmake"
tar -tzf "$dir/out"/pawl-*.tar.gz > "$dir/names"
grep -q '/bin/pawl$' "$dir/names" && grep -q '/libpawl.a$' "$dir/names" || fail "the tar lacks the binary or the library"
echo "packages of the binary and the library, and a tar of both"
