#!/usr/bin/env python3
"""limits.py PAWL [tls]: clients that are slow, half open, idle in great number, or send too much. Each gets a clear
answer or is cut off, everybody else is served meanwhile, nothing accepted is lost, and the server's memory stays
bounded."""

import atexit
import json
import os
import resource
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

pawl = sys.argv[1]
tls = sys.argv[2:] == ["tls"]
idle_wanted = 10_000
idle_max_bytes_each = (96 if tls else 8) * 1024  # with TLS most of it are buffers for records of 16 KiB
wrong = []


def check(holds, what):
    if not holds:
        wrong.append(what)
        print("WRONG:", what)


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
folder = tempfile.TemporaryDirectory(prefix="pawl-limits-")
with open(f"{folder.name}/app.yaml", "w") as file:
    file.write("""
app:
  id: l
  version: "1"
  graphs:
    - subscribes: l.go
      activities:
        go: {type: trigger}
        wait: {type: hook, sleep: 1h}
      transitions:
        go: [{to: wait}]
    - subscribes: l.act
      activities:
        start: {type: trigger}
        act: {type: worker, topic: act}
      transitions:
        start: [{to: act}]
""")
log = open(f"{folder.name}/log", "w+")
certificate = f"{folder.name}/cert.pem"
options = []
trust = None
if tls:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", f"{folder.name}/key.pem", "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    options = ["--tls-cert", certificate, "--tls-key", f"{folder.name}/key.pem"]
    trust = ssl.create_default_context(cafile=certificate)
server = subprocess.Popen([pawl, "serve", "app.yaml", "--store", "jobs.db", "--listen", "127.0.0.1:0", "--log", "json"] + options,
                          cwd=folder.name, stderr=log, stdout=log)


def end_server():
    if server.poll() is None:
        server.kill()
        server.wait()


atexit.register(end_server)
port = None
for _ in range(300):
    for line in open(f"{folder.name}/log"):
        if '"serving"' in line:
            port = int(json.loads(line)["url"].rsplit(":", 1)[1])
    if port:
        break
    time.sleep(0.1)
url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"


def open_url(path, data=None, timeout=20):
    return urllib.request.urlopen(urllib.request.Request(url + path, data=data), timeout=timeout, context=trust)


def connect(timeout=20.0):
    plain = socket.create_connection(("127.0.0.1", port))
    plain.settimeout(timeout)
    return trust.wrap_socket(plain, server_hostname="localhost") if tls else plain


def ask(path, data=None, timeout=20):
    """Status and JSON of an answer, also of a refusal."""
    try:
        with open_url(path, data, timeout) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def resident():
    for line in open(f"/proc/{server.pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def connections():
    with open_url("/metrics") as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("pawl_http_connections "):
                return int(float(line.split()[1]))
    return -1


def raw(data, wait=5.0):
    """What the server sends back for these bytes."""
    with connect(wait) as one:
        got = b""
        try:
            one.sendall(data)
            while True:
                part = one.recv(65536)
                if not part:
                    break
                got += part
        except (socket.timeout, ConnectionError, ssl.SSLError):
            pass
        return got


status, health = ask("/health")
check(status == 200, "a healthy start")


def switches():
    """How often threads of the server slept and woke."""
    count = 0
    for thread in os.listdir(f"/proc/{server.pid}/task"):
        for line in open(f"/proc/{server.pid}/task/{thread}/status"):
            if line.startswith("voluntary_ctxt_switches"):
                count += int(line.split()[1])
    return count


# Nothing to do: no thread runs, and little memory is used.
time.sleep(1)
begin_switches = switches()
time.sleep(3)
check(switches() - begin_switches <= 2, f"threads of an idle server woke {switches() - begin_switches} times in 3 s")
# With TLS, 5 MB of its libraries are in use too.
idle_max = (35 if tls else 30) << 20
check(resident() < idle_max, f"an idle server has {resident() / (1 << 20):.1f} MB")
idle_bytes = resident()
body_max = health["limits"]["body_bytes_max"]

# A body at the limit, and one byte past it.
body = b'{"graph": "l.go", "id": "at-the-limit"}'
check(ask("/v1/jobs", body + b" " * (body_max - len(body)))[0] == 201, "a body at the limit is taken")
status, problem = ask("/v1/jobs", body + b" " * (body_max + 1 - len(body)))
check((status, problem["code"]) == (413, "body_too_large"), f"a body past the limit: {status} {problem}")
check(b" 413 " in raw(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"), "a length past the limit is refused before the body comes")
big = json.dumps({"graph": "l.go", "id": "big", "input": {"x": "y" * (4 << 20)}}).encode()
status, problem = ask("/v1/jobs", big)
check(status in (400, 413, 422) and "code" in problem, f"a payload past its limit: {status}")

# Headers and requests that are none.
check(b" 431 " in raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"), "a header past the limit")
check(b" 400 " in raw(b"nonsense\r\n\r\n"), "bytes that are no request")
check(b" 400 " in raw(b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"), "a target that is none")

# Half a request: the others are served, and what was half sent did nothing.
half = [connect() for _ in range(200)]
for one in half:
    one.sendall(b'POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"graph": "l.go", "id": "half"')
begin = time.monotonic()
check(ask("/v1/jobs/at-the-limit")[0] == 200, "served beside slow clients")
check(time.monotonic() - begin < 2, "served quickly beside slow clients")
for i, one in enumerate(half):
    if i % 2:  # a reset, instead of a proper end
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    one.close()
check(ask("/v1/jobs/half")[0] == 404, "half a request did nothing")
for _ in range(100):
    if connections() < 20:
        break
    time.sleep(0.1)
check(connections() < 20, f"connections that ended are forgotten: {connections()}")

# A worker that hangs up while it waits gets no work: the next one has it at once, not when a lease is over.
for proper in (True, False):
    waiting = connect()
    take = json.dumps({"topics": ["act"], "worker": "gone", "wait": "50s", "lease": "1h"}).encode()
    waiting.sendall(b"POST /v1/work/take HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(take) + take)
    time.sleep(0.3)
    if tls and proper:
        try:
            waiting.settimeout(0.2)
            waiting.unwrap()
        except OSError:
            pass
    waiting.close()
    time.sleep(0.3)
    check(ask("/v1/jobs", json.dumps({"graph": "l.act", "id": f"act-{proper}"}).encode())[0] == 201, "a job with work")
    status, taken = ask("/v1/work/take", json.dumps({"topics": ["act"], "worker": "next", "wait": "5s"}).encode())
    check(len(taken["work"]) == 1, f"the work of a worker that hung up is for the next one: {taken}")

# A stream whose reader does not read is cut off; those who read miss nothing.
slow = connect()
slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
slow.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
before = resident()
for batch in range(30):
    lines = "".join(json.dumps({"graph": "l.go", "id": f"s-{batch}-{i}", "input": {"pad": "x" * 500}}) + "\n" for i in range(1000))
    with open_url("/v1/jobs/batch", lines.encode(), 60) as answer:
        check(answer.read().count(b'"created":true') == 1000, "a batch beside a slow reader")
with open_url("/metrics") as answer:
    figures = answer.read().decode()
check("pawl_event_streams 0" in figures, "a reader that does not read is cut off")
check(resident() - before < 150 << 20, f"memory grew by {(resident() - before) >> 20} MB beside a slow reader")
slow.close()
status, counts = ask("/v1/jobs/count")
check(counts["total"] == 30_003, f"nothing accepted is lost: {counts}")

# Many idle connections, and one that asks.
begin_bytes = resident()
idle = []
request = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
for i in range(idle_wanted):
    one = connect()
    if i % 10 == 0:  # some were used before
        one.sendall(request)
        one.recv(65536)
    idle.append(one)
for _ in range(100):
    if connections() >= idle_wanted:
        break
    time.sleep(0.1)
check(connections() >= idle_wanted, f"{idle_wanted} connections: {connections()}")
each = (resident() - begin_bytes) / idle_wanted
check(each < idle_max_bytes_each, f"an idle connection takes {each:.0f} bytes")
begin = time.monotonic()
check(ask("/v1/jobs/at-the-limit")[0] == 200, "served beside idle connections")
check(time.monotonic() - begin < 2, "served quickly beside idle connections")
# The limit of connections: a clear answer, not silence.
refused = b""
extra = []
try:
    for _ in range(health["limits"]["connections_max"] - idle_wanted + 50):
        extra.append(socket.create_connection(("127.0.0.1", port)))
    time.sleep(0.5)
    extra[-1].settimeout(5)
    refused = extra[-1].recv(4096)
except OSError:
    pass
if tls:  # a handshake only to say no would cost more than it is worth
    check(refused == b"", f"one connection too many is closed: {refused[:80]}")
else:
    check(b"too_many_connections" in refused, f"one connection too many is told so: {refused[:80]}")
for one in idle + extra:
    one.close()
for _ in range(100):
    if connections() < 20:
        break
    time.sleep(0.1)
check(connections() < 20, f"idle connections that ended are forgotten: {connections()}")
print(f"idle {idle_bytes / (1 << 20):.1f} MB, {each:.0f} bytes for an idle connection, {resident() >> 20} MB resident at the end")

server.terminate()
check(server.wait(30) == 0, "a clean stop")
if wrong:
    log.seek(0)
    print(log.read()[-2000:])
sys.exit(1 if wrong else 0)
