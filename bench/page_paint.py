#!/usr/bin/env python3
"""How soon the page is there, with many jobs behind it. Prints JSON; exits 1 if the first paint takes 100 ms or more.

bench/page_paint.py PAWL [--jobs 1000000] [--store FILE] [--rounds 15]
A store that has the jobs already is used as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
root = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(root / "tests" / "page"), str(root / "tests" / "clients")]
from browser import Browser, find_chromium  # noqa: E402
from server import Server, app  # noqa: E402

from pawl import Client, Start  # noqa: E402

limit_ms = 100.0
batch = 10_000


def fill(client: Client, jobs: int) -> float:
    began = time.monotonic()
    missing = jobs - client.count().total
    while missing > 0:
        starts = [Start("order.placed", {"cents": n}, delay="30d") for n in range(min(batch, missing))]
        missing -= len(client.start_many(starts))
    return time.monotonic() - began


# Times of the browser itself, in ms after the navigation began.
paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
rows = "document.querySelectorAll('.jobs tbody tr').length === 50 && performance.getEntriesByName('rows')[0]?.startTime"
counted = "performance.getEntriesByName('counted')[0]?.startTime"
marks = """
new MutationObserver((_, observer) => {
  const seen = (name) => performance.getEntriesByName(name).length;
  if (!seen('rows') && document.querySelector('.jobs tbody tr')) performance.mark('rows');
  if (!seen('counted') && document.querySelector('.chip[data-state=all] b')?.textContent) performance.mark('counted');
  if (seen('rows') && seen('counted')) observer.disconnect();
}).observe(document, {childList: true, subtree: true, characterData: true});
"""


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pawl")
    arguments.add_argument("--jobs", type=int, default=1_000_000)
    arguments.add_argument("--store", default="")
    arguments.add_argument("--rounds", type=int, default=15)
    options = arguments.parse_args()
    os.environ["PAWL_BINARY"] = os.path.abspath(options.pawl)
    server = Server(store=options.store and os.path.abspath(options.store))
    browser = None
    try:
        client = Client(server.url, timeout=300)
        client.deploy(app, development=True)  # a store of an earlier run may have another content
        filled = fill(client, options.jobs)
        browser = Browser(find_chromium())
        figures: dict[str, list[float]] = {"bare_page": [], "first_paint": [], "rows": [], "counts": []}
        for _ in range(options.rounds):
            page = browser.page()  # a new profile: nothing is cached
            page.call("Page.addScriptToEvaluateOnNewDocument", source=marks)
            page.goto(f"{server.url}/errors/invalid")
            figures["bare_page"].append(page.wait(paint))
            page.goto(f"{server.url}/")
            page.wait("location.pathname === '/'")
            figures["first_paint"].append(page.wait(paint))
            figures["rows"].append(page.wait(rows, 60))
            figures["counts"].append(page.wait(counted, 300))
            browser.call("Target.closeTarget", targetId=page.target)
        median = {name: round(statistics.median(times), 1) for name, times in figures.items()}
        worst = {name: round(max(times), 1) for name, times in figures.items()}
        good = median["first_paint"] < limit_ms
        report = {
            "jobs": client.count().total,
            "filled_in_s": round(filled, 1),
            "rounds": options.rounds,
            "median_ms": median,
            "worst_ms": worst,
            "first_paint_below_100_ms": good,
        }
        print(json.dumps(report, indent=1))
        return 0 if good else 1
    finally:
        if browser:
            browser.close()
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
