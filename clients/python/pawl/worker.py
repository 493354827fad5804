"""Serves topics: takes work, runs handlers side by side, answers in batches, renews leases."""

from __future__ import annotations

import inspect
import json
import logging
import os
import queue
import random
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Optional

from .client import Client, take_body
from .errors import Failure, LostWork, PawlError, Problem, RetryLater, Unauthorized, Unreachable
from .transport import Cancel
from .types import Answer
from .work import Work

log = logging.getLogger("pawl.worker")
Handler = Callable[..., Any]  # (input) or (input, work); what it returns is the result

batch_max = 200  # answers of one request
retry_first, retry_max = 0.1, 5.0
silence_max = 45.0  # seconds without a line; the server sends an empty one every 15


@dataclass
class WorkerStats:
    taken: int = 0
    completed: int = 0
    failed: int = 0
    released: int = 0
    fenced: int = 0  # answers that came too late and changed nothing


class Worker:
    """
    worker = Worker(client, concurrency=8)

    @worker.serve("payments.charge")
    def charge(order, work):
        return pay(order, key=work.key)     # the key is the same for every attempt

    worker.run()                            # until Ctrl-C, SIGTERM or stop()

    A handler's result completes the work. `Failure` fails it with a code, retryable or not; any other exception fails
    it, retryable, with code 500. The lease is renewed while a handler runs. If it is lost nevertheless, `work.lost` is
    true, the result is not sent, and `on_fenced` is called.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: Optional[str] = None,
        concurrency: int = 4,
        lease: float = 30.0,
        wait: float = 20.0,
        stream: bool = False,
        drain: float = 30.0,
        on_fenced: Optional[Callable[[Work, Problem], None]] = None,
    ):
        if not 1 <= concurrency <= 256:
            raise ValueError("concurrency: 1 to 256")
        self.client = client
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.concurrency, self.lease, self.wait, self.stream, self.drain = concurrency, lease, wait, stream, drain
        self.on_fenced = on_fenced
        self.stats = WorkerStats()
        self._handlers: dict[str, tuple[Handler, bool]] = {}
        self._running: dict[str, Work] = {}  # by token
        self._changed = threading.Condition()
        self._free = concurrency  # handlers that may begin; in stream mode the server counts
        self._outbox: queue.Queue[Optional[tuple[Work, Answer]]] = queue.Queue()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._pool: Optional[ThreadPoolExecutor] = None
        self._cancel = Cancel()  # the request that waits for work
        self._error: Optional[BaseException] = None

    def serve(self, topic: str, handler: Optional[Handler] = None) -> Any:
        """Serves a topic with a handler; without one it is a decorator."""
        if handler is None:
            return lambda function: (self.serve(topic, function), function)[1]
        if self._threads:
            raise RuntimeError("serve: the worker has begun")
        takes_work = len(inspect.signature(handler).parameters) >= 2
        self._handlers[topic] = (handler, takes_work)
        return handler

    def start(self) -> "Worker":
        """Begins in the background."""
        if not self._handlers:
            raise RuntimeError("start: no topic is served")
        self._pool = ThreadPoolExecutor(self.concurrency, "pawl-handler")
        for target in (self._stream_loop if self.stream else self._take_loop, self._send_loop, self._renew_loop):
            thread = threading.Thread(target=self._guard, args=(target,), daemon=True, name=f"pawl-{target.__name__}")
            self._threads.append(thread)
            thread.start()
        return self

    def run(self) -> None:
        """Works until it is stopped, by Ctrl-C and SIGTERM too. Raises what ended it if that was an error."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: self._stopping.set())
        self.start()
        while not self._stopping.wait(0.5):  # a signal handler needs the main thread now and then
            pass
        self.stop()
        if self._error:
            raise self._error

    def stop(self) -> None:
        """Takes no more, waits `drain` seconds for what runs, gives the rest back, and sends every answer."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        self._cancel.close()
        with self._changed:
            end = time.monotonic() + self.drain
            while self._running and time.monotonic() < end:
                self._changed.wait(end - time.monotonic())
            rest = list(self._running.values())
        for work in rest:
            work._answered = True  # what its handler returns later is not sent
            self._outbox.put((work, Answer(work.token, "release")))
        self._outbox.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(5 + self.client.transport.timeout)
        if self._pool:
            self._pool.shutdown(wait=not rest)

    def __enter__(self) -> "Worker":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    # Taking work.

    def _guard(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except BaseException as error:
            log.error("the worker ends: %s", error)
            self._error = error
            self._stopping.set()
            with self._changed:
                self._changed.notify_all()

    def _patiently(self, attempt: Callable[[], None]) -> None:
        """Repeats until stopped. No answer of the server is a reason to wait, a refusal is a reason to end."""
        pause = retry_first
        while not self._stopping.is_set():
            try:
                attempt()
                pause = retry_first
            except (Unreachable, RetryLater) as error:
                if self._stopping.is_set():
                    return
                log.warning("no work can be taken, again in %.1f s: %s", pause, error)
                self._stopping.wait(pause * random.uniform(0.7, 1.3))
                pause = min(2 * pause, retry_max)

    def _take_loop(self) -> None:
        def take() -> None:
            with self._changed:
                while self._free == 0 and not self._stopping.is_set():
                    self._changed.wait()
                if self._stopping.is_set():
                    return
                room, self._free = self._free, 0
            got: list[Work] = []
            try:
                body = take_body(list(self._handlers), room, self.name, self.lease, self.wait)
                document = self.client._json(
                    "POST",
                    "/v1/work/take",
                    body=body,
                    timeout=self.wait + self.client.transport.timeout,
                    cancel=self._cancel,
                )
                got = [Work.of(self.client, one, self.lease) for one in document["work"]]
            finally:
                with self._changed:
                    self._free += room - len(got)
            self._begin(got)

        self._patiently(take)

    def _stream_loop(self) -> None:
        def follow() -> None:
            body = {
                "topics": list(self._handlers),
                "worker": self.name,
                "lease": f"{round(self.lease * 1000)}ms",
                "concurrency": self.concurrency,
            }
            stream = self.client.transport.open(
                "POST", "/v1/work/stream", body=body, timeout=silence_max, cancel=self._cancel
            )
            try:
                while True:
                    line = stream.line()
                    if line is None:
                        raise Unreachable("the stream has ended")
                    if line.strip():
                        self._begin([Work.of(self.client, json.loads(line), self.lease)])
            finally:
                stream.close()

        self._patiently(follow)

    def _begin(self, got: list[Work]) -> None:
        assert self._pool
        with self._changed:  # stop() looks at what runs under this lock, after it has set _stopping
            late = self._stopping.is_set()
            if not late:
                self.stats.taken += len(got)
                self._running.update((work.token, work) for work in got)
        if late and got:
            self.client.answer([Answer(work.token, "release") for work in got])
            return
        for work in got:
            self._pool.submit(self._handle, work)

    # Handlers and their answers.

    def _handle(self, work: Work) -> None:
        handler, takes_work = self._handlers[work.topic]
        try:
            result = handler(work.input, work) if takes_work else handler(work.input)
            json.dumps(result)  # here, so that what is not JSON fails this attempt and no other
            answer = Answer(work.token, "complete", data=result)
        except Failure as failure:
            answer = Answer(work.token, "fail", data=failure.data, code=failure.code, retryable=failure.retryable)
        except LostWork as problem:
            self._fenced(work, problem)
            return self._finish(work, None)
        except Exception as error:
            log.exception("the handler of %s failed (job %s)", work.topic, work.job)
            answer = Answer(work.token, "fail", data={"message": f"{type(error).__name__}: {error}"})
        if work.lost and not work._answered:
            self._fenced(
                work, LostWork(409, {"code": "stale_token", "detail": "the lease was lost while the handler ran"})
            )
            return self._finish(work, None)
        self._finish(work, None if work._answered else answer)

    def _finish(self, work: Work, answer: Optional[Answer]) -> None:
        if answer:
            self._outbox.put((work, answer))
        else:
            self._forget([work])

    def _forget(self, works: list[Work]) -> None:
        with self._changed:
            for work in works:
                if self._running.pop(work.token, None) and not self.stream:
                    self._free += 1
            self._changed.notify_all()

    def _send_loop(self) -> None:
        while True:
            batch = [self._outbox.get()]
            while len(batch) < batch_max:
                try:
                    batch.append(self._outbox.get_nowait())
                except queue.Empty:
                    break
            answers = [one for one in batch if one]
            if answers:
                self._send(answers)
            if None in batch:
                return

    def _send(self, batch: list[tuple[Work, Answer]]) -> None:
        """Sends answers, and takes new work into the places that they leave. Gives up when every lease is over."""
        works = [work for work, _ in batch]
        pause, end = retry_first, time.monotonic() + self.lease
        while True:
            take = None
            if not self.stream and not self._stopping.is_set():
                take = take_body(list(self._handlers), len(works), self.name, self.lease, 0)
            try:
                results, got = self.client.answer([answer for _, answer in batch], take)
                break
            except (Unreachable, RetryLater) as error:
                if time.monotonic() > end:
                    log.error("%d answers could not be sent, their work is done again: %s", len(batch), error)
                    return self._forget(works)
                time.sleep(pause)
                pause = min(2 * pause, retry_max)
            except Unauthorized:
                self._forget(works)
                raise
            except Problem as error:  # one that cannot be read spoils the request: send each alone
                if len(batch) == 1:
                    log.error("an answer was refused, its work is done again (job %s): %s", works[0].job, error)
                    return self._forget(works)
                for one in batch:
                    self._send([one])
                return
        for (work, answer), result in zip(batch, results):
            problem = work._note(result.problem)
            if problem:
                self._fenced(work, problem)
            else:
                name = {"complete": "completed", "fail": "failed", "release": "released"}[answer.do]
                setattr(self.stats, name, getattr(self.stats, name) + 1)
        with self._changed:
            self._free -= len(got)  # the new ones have these places before anybody else can
        self._forget(works)
        self._begin(got)

    def _fenced(self, work: Work, problem: Problem) -> None:
        self.stats.fenced += 1
        log.warning(
            "job %s, attempt %d of %s: the answer changed nothing: %s",
            work.job,
            work.attempt,
            work.topic,
            problem.detail,
        )
        if self.on_fenced:
            self.on_fenced(work, problem)

    def _renew_loop(self) -> None:
        while not self._stopping.wait(self.lease / 3) or self._running:
            with self._changed:
                works = [work for work in self._running.values() if not work.lost and not work._answered]
            try:
                for at in range(0, len(works), batch_max):
                    part = works[at : at + batch_max]
                    renewals = [Answer(work.token, "heartbeat", lease=self.lease) for work in part]
                    results, _ = self.client.answer(renewals)
                    for work, result in zip(part, results):
                        if work.token in self._running:  # else its own answer was quicker
                            work._note(result.problem)
            except PawlError as error:
                log.warning("leases were not renewed: %s", error)
            if self._stopping.is_set():
                time.sleep(min(1.0, self.lease / 3))
