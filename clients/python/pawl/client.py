"""The HTTP API of `pawl serve`."""

from __future__ import annotations

import json
import ssl
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union

from .errors import Problem, problem_of
from .events import EventStream
from .jobs import JobHandle
from .store import StoreCalls, drop_none
from .transport import Transport, segment
from .types import (
    Announcement,
    Answer,
    AnswerResult,
    AppVersion,
    BulkResult,
    Counts,
    Duration,
    Event,
    Filter,
    Job,
    JobPage,
    Start,
    Topic,
    WorkerInfo,
    build,
    duration_text,
)
from .work import Work

batch_lines = 1000  # jobs that one request of `start_many` starts


class Client(StoreCalls):
    """Safe for many threads. Every method raises a `Problem` if the server refuses, `Unreachable` if no answer came."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8210",
        *,
        token: Optional[str] = None,
        timeout: float = 30.0,
        context: Optional[ssl.SSLContext] = None,
    ):
        self.transport = Transport(url, token, timeout, context)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self.transport.close()

    # Apps. `StoreCalls` has what concerns the store as a whole.

    def apps(self) -> list[AppVersion]:
        return [build(AppVersion, one) for one in self._json("GET", "/v1/apps", repeat=True)["apps"]]

    def deploy(
        self, app: Union[str, Mapping[str, str]], *, activate: bool = True, development: bool = False
    ) -> AppVersion:
        """Checks an app and keeps it: its YAML, or its files (name to text, the main one first)."""
        query = {"activate": str(activate).lower(), "development": str(development).lower()}
        return build(AppVersion, self._send_app("/v1/apps", app, query))

    def check(self, app: Union[str, Mapping[str, str]]) -> dict[str, Any]:
        """Every mistake of an app; nothing is kept."""
        document: dict[str, Any] = self._send_app("/v1/apps/check", app, {})
        return document

    def _send_app(self, path: str, app: Union[str, Mapping[str, str]], query: Mapping[str, Any]) -> Any:
        if not isinstance(app, str):
            return self._json(
                "POST",
                path,
                query=query,
                body={"files": [{"name": name, "text": text} for name, text in app.items()]},
                repeat=True,
            )
        return json.loads(
            self.transport.exchange("POST", path, query=query, data=app.encode(), kind="application/yaml", repeat=True)[
                1
            ]
        )

    def app_files(self, app: str, version: Optional[str] = None) -> dict[str, str]:
        """The files of a version (none: the active one), name to text, the main one first."""
        stored = self._json("GET", f"/v1/apps/{segment(app)}", query={"version": version}, repeat=True)
        return {one["name"]: one["text"] for one in stored["files"]}

    def app_picture(
        self, app: str, *, version: Optional[str] = None, topic: Optional[str] = None, format: str = "svg"
    ) -> str:
        """Its graphs, or the one of a topic: svg, mermaid or text."""
        query = {"version": version, "topic": topic, "format": format}
        return self.transport.exchange("GET", f"/v1/apps/{segment(app)}/picture", query=query, repeat=True)[1].decode()

    def activate(self, app: str, version: str) -> None:
        self._json("POST", f"/v1/apps/{segment(app)}/activate", body={"version": version}, repeat=True)

    # Jobs.

    def start(
        self,
        graph: str,
        input: Any = None,
        *,
        id: Optional[str] = None,
        namespace: Optional[str] = None,
        reuse: Optional[str] = None,
        delay: Optional[Duration] = None,
        end_within: Optional[Duration] = None,
        keep: Optional[Duration] = None,
        priority: Optional[int] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
    ) -> JobHandle:
        """Starts a job; it is durable when this returns. With an `id` a lost answer is asked for again: it counts once."""
        start = Start(graph, input, id, namespace, reuse, delay, end_within, keep, priority)
        headers = drop_none({"traceparent": traceparent, "tracestate": tracestate if traceparent else None})
        started = self._json(
            "POST", "/v1/jobs", body=start.body(), headers=headers, repeat=id is not None and reuse in (None, "attach")
        )
        return JobHandle(self, started["id"], started["namespace"], started["run"], started["created"])

    def start_many(self, starts: Iterable[Start]) -> list[Union[JobHandle, Problem]]:
        """Starts many with few requests. The answers are in order; one that was refused is its `Problem`."""
        lines = [json.dumps(start.body()) + "\n" for start in starts]
        answers: list[Union[JobHandle, Problem]] = []
        for at in range(0, len(lines), batch_lines):
            data = "".join(lines[at : at + batch_lines]).encode()
            text = self.transport.exchange("POST", "/v1/jobs/batch", data=data, kind="application/x-ndjson")[1]
            for document in (json.loads(line) for line in text.splitlines() if line.strip()):
                refused = document.get("problem")
                answers.append(
                    problem_of(int(refused.get("status", 400)), refused)
                    if refused
                    else JobHandle(self, document["id"], document["namespace"], document["run"], document["created"])
                )
        return answers

    def job(self, id: str, namespace: str = "default", run: Optional[str] = None) -> JobHandle:
        """A handle; nothing is asked of the server."""
        return JobHandle(self, id, namespace, run)

    def page(
        self, filter: Filter = Filter(), *, order: str = "newest", after: Optional[str] = None, limit: int = 100
    ) -> JobPage:
        return build(
            JobPage,
            self._json(
                "GET",
                "/v1/jobs",
                query={**filter.fields(), "order": order, "after": after, "limit": limit},
                repeat=True,
            ),
        )

    def jobs(self, filter: Filter = Filter(), *, order: str = "newest", page_size: int = 100) -> Iterator[Job]:
        """All jobs of the filter; a page is read when the one before is used up."""
        after = None
        while True:
            page = self.page(filter, order=order, after=after, limit=page_size)
            yield from page.jobs
            if page.next is None:
                return
            after = page.next

    def count(self, filter: Filter = Filter()) -> Counts:
        return build(Counts, self._json("GET", "/v1/jobs/count", query=filter.fields(), repeat=True))

    def bulk(
        self,
        verb: str,
        filter: Filter,
        *,
        dry_run: bool = False,
        reason: Optional[str] = None,
        signal: Optional[Mapping[str, Any]] = None,
        keep_id: Optional[Duration] = None,
        timeout: Optional[float] = None,
    ) -> BulkResult:
        """interrupt, cancel, pause, resume, redrive, remove or signal every job of a filter. `dry_run` only checks them.
        Without a status in the filter, jobs in a state for it are meant. `timeout`: seconds, for very many."""
        body = drop_none({"filter": filter.fields(), "dry_run": dry_run, "reason": reason, "signal": signal})
        if keep_id is not None:
            body["keep_id"] = duration_text(keep_id)
        return build(BulkResult, self._json("POST", f"/v1/bulk/{segment(verb)}", body=body, timeout=timeout))

    def signal(
        self,
        topic: str,
        data: Any = None,
        *,
        namespace: Optional[str] = None,
        id: Optional[str] = None,
        pending: bool = False,
        code: Optional[int] = None,
        start: Optional[Start] = None,
    ) -> Optional[JobHandle]:
        """Sends it to the hook that waits for it, or to the first that will. With `start` that job is started first if
        its id is free, the signal is for it, and its handle is returned."""
        body = drop_none(
            {
                "topic": topic,
                "data": data,
                "namespace": namespace,
                "id": id,
                "pending": pending or None,
                "code": code,
                "start": start.body() if start else None,
            }
        )
        answer = self._json("POST", "/v1/signals", body=body, repeat=id is not None)
        return JobHandle(self, answer["id"], answer["namespace"], answer["run"], answer["created"]) if start else None

    # Topics, events, announcements.

    def topics(self) -> list[Topic]:
        return [build(Topic, one) for one in self._json("GET", "/v1/topics", repeat=True)["topics"]]

    def pause_topic(self, topic: str) -> None:
        self._json("POST", f"/v1/topics/{segment(topic)}/pause", repeat=True)

    def resume_topic(self, topic: str) -> None:
        self._json("POST", f"/v1/topics/{segment(topic)}/resume", repeat=True)

    def workers(self) -> list[WorkerInfo]:
        return [build(WorkerInfo, one) for one in self._json("GET", "/v1/workers", repeat=True)["workers"]]

    def events(
        self,
        *,
        job: Optional[str] = None,
        namespace: Optional[str] = None,
        run: Optional[str] = None,
        graph: Optional[str] = None,
        kinds: Sequence[str] = (),
        last_id: Optional[str] = None,
    ) -> EventStream[Event]:
        """What happens from now on, or behind `last_id`: of a job, a graph, or everything; all kinds, or only these."""

        def make(name: str, data: Any) -> Optional[Event]:
            return None if name == "hello" else build(Event, {**(data or {}), "kind": name})

        return EventStream(
            self.transport,
            "/v1/events",
            {"job": job, "namespace": namespace, "run": run, "graph": graph, "kind": list(kinds)},
            make,
            last_id,
        ).connect()

    def announcements(
        self, *, topic: Optional[str] = None, namespace: Optional[str] = None, last_id: Optional[str] = None
    ) -> EventStream[Announcement]:
        """What jobs announce, behind `last_id` (a cursor). Nothing is missed across restarts."""

        def make(name: str, data: Any) -> Optional[Announcement]:
            return build(Announcement, data) if name == "announcement" else None

        return EventStream(
            self.transport, "/v1/announcements/stream", {"topic": topic, "namespace": namespace}, make, last_id
        ).connect()

    def announced(
        self,
        *,
        topic: Optional[str] = None,
        namespace: Optional[str] = None,
        run: Optional[str] = None,
    ) -> Iterator[Announcement]:
        """What jobs have announced so far, by time; `announcements` follows what comes."""
        query = {"topic": topic, "namespace": namespace, "run": run}
        return self._pages("/v1/announcements", "announcements", Announcement, query)

    def measures(self, topic: str, **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._json("GET", "/v1/measures", query={"topic": topic, **query}, repeat=True)[
            "measures"
        ]
        return found

    # Work. `Worker` does all of this for you.

    def take(
        self,
        topics: Sequence[str],
        *,
        max: int = 1,
        worker: Optional[str] = None,
        lease: Duration = 30,
        wait: float = 20,
    ) -> list[Work]:
        """Takes work, and waits so long if there is none."""
        body = take_body(topics, max, worker, lease, wait)
        document = self._json("POST", "/v1/work/take", body=body, timeout=wait + self.transport.timeout)
        return [Work.of(self, one, lease) for one in document["work"]]

    def answer(
        self, answers: Sequence[Answer], take: Optional[Mapping[str, Any]] = None
    ) -> tuple[list[AnswerResult], list[Work]]:
        """Answers several attempts in one request; one that is refused fails no other. `take` also takes new work."""
        body = drop_none({"answers": [one.body() for one in answers], "take": take})
        document = self._json("POST", "/v1/work/answers", body=body, repeat=take is None)
        return [build(AnswerResult, one) for one in document["results"]], [
            Work.of(self, one, (take or {}).get("lease")) for one in document.get("work") or []
        ]


def take_body(topics: Sequence[str], max: int, worker: Optional[str], lease: Duration, wait: float) -> dict[str, Any]:
    return drop_none(
        {
            "topics": list(topics),
            "max": max,
            "worker": worker,
            "lease": duration_text(lease),
            "wait": duration_text(wait),
        }
    )
