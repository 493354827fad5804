#!/usr/bin/env python3
"""A storm against the server with remote workers: kill -9 of the server and of workers, again and again. The checker
knows nothing but HTTP and the file that the workers write.

storm.py PAWL STORE SECONDS: every job ends completed, with the answer that belongs to it; every step was acted on, and
no answer of a worker whose lease was lost counts."""

import atexit
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

pawl, store, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
seed = int(os.environ.get("PAWL_SEED", random.randrange(1 << 30)))
rng = random.Random(seed)
print(f"seed {seed}")
folder = tempfile.mkdtemp(prefix="pawl-storm-")
app = """
app:
  id: storm
  version: "1"
  graphs:
    - subscribes: storm.go
      activities:
        go: {type: trigger}
        a: {type: worker, topic: step, retry: {maximumAttempts: 1000, initialInterval: 1ms},
            input: {maps: {n: "{go.output.data.n}", step: 1}}, job: {maps: {a: "{$self.output.data.sum}"}}}
        b: {type: worker, topic: step, retry: {maximumAttempts: 1000, initialInterval: 1ms},
            input: {maps: {n: "{a.output.data.sum}", step: 2}}, job: {maps: {b: "{$self.output.data.sum}"}}}
      transitions:
        go: [{to: a}]
        a: [{to: b}]
"""
with open(f"{folder}/app.yaml", "w") as file:
    file.write(app)
with socket.socket() as one:
    one.bind(("127.0.0.1", 0))
    port = one.getsockname()[1]
url = f"http://127.0.0.1:{port}"


def serve():
    log = open(f"{folder}/log", "ab")
    return subprocess.Popen(
        [pawl, "serve", f"{folder}/app.yaml", "--store", store, "--listen", f"127.0.0.1:{port}"],
        stdout=log, stderr=log, cwd=folder)


def ask(path, body=None, timeout=30):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data=data), timeout=timeout) as answer:
        return json.load(answer)


acted = {}  # by key: how often
stale = taken = 0
lock = threading.Lock()
ending = threading.Event()


def work(name):
    global stale, taken
    own = random.Random(f"{seed}/{name}")
    while not ending.is_set():
        try:
            got = ask("/v1/work/take", {"topics": ["step"], "max": 4, "worker": name, "lease": "1s", "wait": "1s"})["work"]
        except (OSError, ValueError):
            time.sleep(0.05)
            continue
        for one in got:
            with lock:
                taken += 1
                acted[one["key"]] = acted.get(one["key"], 0) + 1
            if own.random() < 0.03:
                continue  # this worker died
            if own.random() < 0.03:
                time.sleep(1.3)  # and this one lost its lease
            answer = {"sum": one["input"]["n"] + one["input"]["step"]}
            while not ending.is_set():
                try:
                    if own.random() < 0.05:
                        ask(f"/v1/work/{one['token']}/fail?code=503", {"message": "not now"})
                    else:
                        ask(f"/v1/work/{one['token']}/complete", answer)
                    break
                except urllib.error.HTTPError as error:
                    if error.code == 409:
                        with lock:
                            stale += 1
                        break
                    time.sleep(0.05)
                except (OSError, ValueError):
                    time.sleep(0.05)  # the server is away: the same answer once more


server = serve()
atexit.register(lambda: server.poll() is None and server.kill())
workers = [threading.Thread(target=work, args=(f"w{i}",), daemon=True) for i in range(6)]
for one in workers:
    one.start()
end = time.monotonic() + seconds
next_kill = time.monotonic() + 1
jobs = kills = 0
accepted = {}
while time.monotonic() < end:
    try:
        number = jobs
        if ask("/v1/jobs", {"graph": "storm.go", "id": f"j{number}", "input": {"n": number}}, timeout=5)["id"] == f"j{number}":
            accepted[f"j{number}"] = number
            jobs += 1
    except (OSError, ValueError):
        time.sleep(0.02)
    if time.monotonic() >= next_kill:
        server.send_signal(signal.SIGKILL)
        server.wait()
        kills += 1
        server = serve()
        next_kill = time.monotonic() + rng.uniform(0.3, 1.5)
    time.sleep(0.005)

wrong = 0
deadline = time.monotonic() + 120
for job, number in accepted.items():
    while True:
        try:
            view = ask(f"/v1/jobs/{job}/result?timeout=10s", timeout=30)
            if view["status"] != "running" or time.monotonic() > deadline:
                break
        except (OSError, ValueError):
            if time.monotonic() > deadline:
                view = {"status": "not answered"}
                break
            time.sleep(0.1)
    if view["status"] != "completed" or view["data"] != {"a": number + 1, "b": number + 3}:
        wrong += 1
        print("WRONG", job, json.dumps(view))
        if wrong <= 3:
            print(json.dumps(ask(f"/v1/jobs/{job}")), json.dumps(ask("/v1/topics")))
ending.set()
steps = len(acted)
if steps < 2 * len(accepted):
    wrong += 1
    print(f"WRONG: {steps} keys for {2 * len(accepted)} steps")
server.terminate()
if server.wait(30) != 0:
    wrong += 1
    print("WRONG: the last stop was not clean")
print(f"{len(accepted)} jobs, {kills} kills, {taken} attempts, {sum(acted.values()) - steps} more than one for a step, {stale} stale answers, {wrong} wrong")
if wrong:
    print(open(f"{folder}/log").read()[-4000:])
sys.exit(1 if wrong or not accepted or kills == 0 else 0)
