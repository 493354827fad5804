#!/usr/bin/env python3
"""Every public header begins with an example: the lines of its first comment that are indented by three spaces. Each is
compiled with all warnings, by g++ and by clang, and so is the program of the README. The headers are parsed once for
all examples (precompiled): that is what takes time.   examples.py INCLUDE README"""
import pathlib
import re
import subprocess
import sys
import tempfile

include = pathlib.Path(sys.argv[1])
readme = pathlib.Path(sys.argv[2])
folder_of_adapter = {"pawl": "pawl_boost", "pawl_boost": "pawl_boost", "pawl_nlohmann": "pawl_nlohmann"}
standard = ["charconv", "chrono", "cstdio", "ctime", "optional", "string", "string_view", "utility", "vector"]
flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include}"]


def example_of(header):
    lines = []
    for line in header.read_text().splitlines():
        if not line.startswith("//"):
            break
        if line.startswith("//   "):
            lines.append(line[5:])
    return "\n".join(lines)


def example_of_readme():
    """Its types stand outside of a function, the rest within one."""
    blocks = re.findall(r"```cpp\n(.*?)```", readme.read_text(), re.DOTALL)
    types, separator, calls = next(b for b in blocks if "pawl::open" in b).partition("auto graph")
    return f"{types}std::string pay(const Order& order, const std::string& key);\nvoid run() {{\n{separator}{calls}}}"


def compile_all(compiler, adapter, examples, folder):
    """What the compiler says of each example that it does not take."""
    prelude = folder / f"{adapter}.h"
    all_headers = sorted(h.relative_to(include).as_posix() for h in (include / "pawl").glob("*.h"))
    text = "".join(f"#include <{h}>\n" for h in [*standard, *all_headers, f"{adapter}/json.h"])
    prelude.write_text(text + "using namespace std::chrono_literals;\n")
    precompiled = folder / (f"{adapter}.h.gch" if compiler == "g++" else f"{adapter}.h.pch")
    done = subprocess.run([compiler, *flags, "-x", "c++-header", str(prelude), "-o", str(precompiled)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{compiler} does not compile the public headers:\n{done.stderr[:3000]}"]
    wrong = []
    use = ["-include", str(prelude)] if compiler == "g++" else ["-include-pch", str(precompiled)]
    for name, text in examples:
        source = folder / "example.cc"
        source.write_text(f"{text}\n")
        done = subprocess.run([compiler, *flags, *use, "-fsyntax-only", str(source)], capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(f"{compiler} does not compile the example of {name}:\n{done.stderr[:3000]}")
    return wrong


wrong = []
examples = {}  # by adapter
for header in sorted(include.rglob("*.h")):
    name = header.relative_to(include).as_posix()
    example = example_of(header)
    if example:
        examples.setdefault(folder_of_adapter[name.split("/")[0]], []).append((name, example))
    else:
        wrong.append(f"{name} has no example in its first comment")
if sum(len(all) for all in examples.values()) < 20 or len(examples) != 2:
    wrong.append("the headers are not found")
examples["pawl_boost"].append(("README.md", example_of_readme()))
for compiler in ("g++", "clang++-14"):
    for adapter, all in examples.items():
        with tempfile.TemporaryDirectory() as folder:
            wrong += compile_all(compiler, adapter, all, pathlib.Path(folder))
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
