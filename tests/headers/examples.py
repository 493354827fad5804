#!/usr/bin/env python3
"""Every public header begins with an example: the lines of its first comment that are indented by three spaces. Each is
compiled with all warnings, by every compiler that is there.   examples.py INCLUDE"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

include = pathlib.Path(sys.argv[1])
compilers = [c for c in ("c++", "clang++-14") if shutil.which(c)]
if "clang++-14" not in compilers:
    print("clang++-14 is not installed: left out")
standard = ["charconv", "chrono", "cstdio", "ctime", "optional", "string", "string_view", "utility", "vector"]
failed = False
seen = 0
for header in sorted(include.rglob("*.h")):
    name = header.relative_to(include).as_posix()
    lines = header.read_text().splitlines()
    comment = []
    for line in lines:
        if not line.startswith("//"):
            break
        comment.append(line)
    example = [line[5:] for line in comment if line.startswith("//   ")]
    if not example:
        print(f"{name} has no example in its first comment")
        failed = True
        continue
    seen += 1
    adapter = [] if name.startswith("pawl_") else ["pawl_boost/json.h"]
    text = "".join(f"#include <{h}>\n" for h in [name, *standard, "pawl/pawl.h", *adapter])
    text += "using namespace std::chrono_literals;\n" + "\n".join(example) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "example.cc"
        source.write_text(text)
        for compiler in compilers:
            flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include}"]
            done = subprocess.run([compiler, *flags, str(source)], capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{compiler} does not compile the example of {name}:\n{done.stderr[:3000]}")
                failed = True
if seen < 15:
    print(f"only {seen} headers were seen")
    failed = True
sys.exit(1 if failed else 0)
