"""Every figure of two revisions and their ratio, from the files that scripts/bench_compare leaves."""

import json
import statistics
import sys
from pathlib import Path


def figures(value, path=""):
    """The numbers of a JSON document, each with its place."""
    if isinstance(value, bool):
        return
    if isinstance(value, (int, float)):
        yield path, float(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from figures(inner, f"{path}/{key}" if path else key)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            label = inner.get("name", number) if isinstance(inner, dict) else number
            yield from figures(inner, f"{path}[{label}]")


def medians(folder, bench, side, rounds):
    runs = [dict(figures(json.loads((folder / f"{bench}.{side}.{n}.json").read_text()))) for n in range(1, rounds + 1)]
    return {path: statistics.median(run[path] for run in runs if path in run) for path in runs[0]}


def is_rate(path):
    """More is better: only these can fail the comparison."""
    name = path.rsplit("/", 1)[-1]
    return name.endswith(("per_second", "_per_s", "rate")) and not name.startswith("raw")


def main():
    folder, rounds, limit, benches = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
    worse = []
    for bench in benches:
        base, here = medians(folder, bench, "base", rounds), medians(folder, bench, "here", rounds)
        print(f"\n{bench}: the median of {rounds}\n{'base':>14} {'here':>14}  here/base")
        for path in base:
            if path not in here:
                continue
            ratio = here[path] / base[path] if base[path] else float("nan")
            falls = is_rate(path) and ratio < limit
            print(f"{base[path]:14.6g} {here[path]:14.6g}  {ratio:9.3f}  {path}{'   <-- falls' if falls else ''}")
            if falls:
                worse.append(f"{bench}: {path} is {ratio:.3f} of the base")
    if worse:
        sys.exit("\n" + "\n".join(worse))


if __name__ == "__main__":
    main()
