"""A real `pawl serve` for tests: a free port, a folder of its own, kill -9 and start again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Optional

root = Path(__file__).resolve().parents[2]
app = (Path(__file__).parent / "app.yaml").read_text()
sys.path.insert(0, str(root / "clients" / "python"))


def binary() -> str:
    return os.environ.get("PAWL_BINARY") or str(root / "build" / "release" / "pawl")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    def __init__(self, token: str = "", store: str = "", command: str = "serve", more: tuple[str, ...] = ()):
        self.folder = tempfile.mkdtemp(prefix="pawl-serve-")
        self.store = store or os.environ.get("PAWL_TEST_ON") or os.path.join(self.folder, "jobs.db")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.token, self.command, self.more = token, command, more
        self.process: Optional[subprocess.Popen] = None
        self.start()

    def start(self) -> "Server":
        environment = (
            {**os.environ, "PAWL_TOKEN": self.token}
            if self.token
            else {k: v for k, v in os.environ.items() if k != "PAWL_TOKEN"}
        )
        self.log = open(os.path.join(self.folder, "log"), "ab")
        command = [binary(), self.command, "--store", self.store, "--listen", f"127.0.0.1:{self.port}", *self.more]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, env=environment, cwd=self.folder)
        end = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/health/ready", timeout=2):
                    return self
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"pawl serve does not answer ({error}):\n{self.output()}") from error
            time.sleep(0.02)

    def output(self) -> str:
        return Path(self.folder, "log").read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()
        self.log.close()

    def stop(self) -> None:
        """As an operator stops it; then the folder is gone."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """Stands between a client and a server and can lose what it carries."""

    def __init__(self, port: int):
        self.target = port
        self.lose_answers = 0  # so many connections get their request through, and no answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.open: list[socket.socket] = []
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            with self.lock:
                self.open += [client, server]
            threading.Thread(target=self._carry, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, True), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65536):
                with self.lock:
                    lose = answers and self.lose_answers > 0
                    self.lose_answers -= lose
                if lose:
                    break
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self) -> None:
        """Ends every connection that is open."""
        with self.lock:
            cut, self.open = self.open, []
        for one in cut:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.listener.close()
        self.cut()


def until(what, seconds: float = 20):
    """The value of a function once it is true."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("it never came true")
        time.sleep(0.02)
