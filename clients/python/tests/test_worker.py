"""Workers against a real server: side by side, retried, fenced, restarted."""

import sys
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "clients"))
from server import Proxy, Server, app, until  # noqa: E402

import pawl  # noqa: E402
from pawl import Answer, Client, Failure, Start, Worker  # noqa: E402


class WorkerTest(unittest.TestCase):
    stream = False

    def setUp(self):
        self.server = Server()
        self.client = Client(self.server.url)
        self.client.deploy(app)
        self.workers = []

    def tearDown(self):
        for worker in self.workers:
            worker.stop()
        self.server.stop()

    def serve(self, topic, handler, client=None, **options):
        worker = Worker(client or self.client, **{"wait": 2, "stream": self.stream, "drain": 3, **options})
        worker.serve(topic, handler)
        worker.start()
        self.workers.append(worker)
        return worker

    def test_handlers_run_side_by_side_up_to_the_limit(self):
        together = threading.Barrier(4, timeout=10)
        counts = {"now": 0, "most": 0}
        lock = threading.Lock()

        def greet(input):
            with lock:
                counts["now"] += 1
                counts["most"] = max(counts["most"], counts["now"])
            together.wait()
            with lock:
                counts["now"] -= 1
            return {"text": input["name"]}

        worker = self.serve("greet", greet, concurrency=4)
        jobs = self.client.start_many([Start("greet.asked", {"name": str(n)}) for n in range(40)])
        self.assertEqual([job.result(20)["text"] for job in jobs], [str(n) for n in range(40)])
        self.assertEqual(counts["most"], 4)
        until(lambda: worker.stats.completed == 40)
        self.assertEqual((worker.stats.taken, worker.stats.fenced), (40, 0))

    def test_a_failed_attempt_is_followed_by_another_that_sees_its_progress(self):
        seen = []

        def pay(input, work):
            seen.append((work.attempt, work.key, work.progress))
            if len(seen) < 3:
                work.heartbeat({"step": len(seen)})
                raise RuntimeError("the line is down") if len(seen) == 1 else Failure("again", code=503)
            return {"paid": True}

        worker = self.serve("pay", pay)
        self.assertEqual(self.client.start("payment.due").result(20), {"paid": True})
        self.assertEqual([one[2] for one in seen], [None, {"step": 1}, {"step": 2}])
        self.assertEqual(len({one[1] for one in seen}), 1)
        self.assertEqual(len({one[0] for one in seen}), 3)
        self.assertEqual(worker.stats.failed, 2)

    def test_interim_answers_open_what_follows(self):
        def encode(input, work):
            work.pending({"percent": 10}, code=202)
            work.pending({"percent": 60}, code=202)
            return {"file": "film.mp4"}

        self.serve("encode", encode)
        self.serve("greet", lambda input: {"text": ""})
        job = self.client.start("film.uploaded")
        self.assertEqual(job.result(20)["file"], "film.mp4")
        self.assertEqual(len([one for one in job.get().activities if one.name == "so_far"]), 2)

    def test_released_work_is_taken_by_another_at_once(self):
        takers = []

        def first(input, work):
            takers.append("first")
            work.release()

        # A stream that ends may have been given work that nobody reads: that comes back with its lease.
        one = self.serve("pay", first, concurrency=1, lease=2)
        until(lambda: any(worker.topics == ["pay"] for worker in self.client.workers()))
        job = self.client.start("payment.due")
        until(lambda: takers)
        one.stop()
        self.serve("pay", lambda input: takers.append("second") or {"paid": 1})
        self.assertEqual(job.result(20), {"paid": 1})
        self.assertEqual(takers[-1], "second")

    def test_a_worker_that_lost_its_lease_is_told_and_changes_nothing(self):
        fenced, began, go_on = [], threading.Event(), threading.Event()

        def slow(input, work):
            began.set()
            go_on.wait(20)
            return {"text": "from the slow one"}

        proxy = Proxy(self.server.port)  # its renewals do not get through
        slow_worker = self.serve(
            "greet",
            slow,
            Client(proxy.url),
            lease=1,
            on_fenced=lambda work, problem: fenced.append((work.job, problem.code)),
        )
        job = self.client.start("greet.asked", {"name": "x"}, id=f"fenced-{self.stream}")
        self.assertTrue(began.wait(10))
        real, proxy.target = proxy.target, 9
        proxy.cut()
        self.serve("greet", lambda input: {"text": "from the quick one"})
        self.assertEqual(job.result(30), {"text": "from the quick one"})
        proxy.target = real
        go_on.set()
        until(lambda: fenced)
        self.assertEqual(fenced, [(f"fenced-{self.stream}", "stale_token")])
        self.assertEqual(slow_worker.stats.fenced, 1)
        self.assertEqual(job.result(1), {"text": "from the quick one"})
        proxy.close()

    def test_an_interrupted_job_reaches_its_handler(self):
        began, lost = threading.Event(), threading.Event()

        def slow(input, work):
            began.set()
            if work.wait_lost(20):
                lost.set()
            return {"text": "late"}

        worker = self.serve("greet", slow, lease=1.5)
        job = self.client.start("greet.asked", {"name": "x"})
        self.assertTrue(began.wait(10))
        job.interrupt("no more")
        self.assertEqual(job.wait(10).status, "interrupted")
        self.assertTrue(lost.wait(10))
        until(lambda: worker.stats.fenced == 1)

    def test_a_lease_is_renewed_while_a_handler_runs(self):
        attempts = []

        def slow(input, work):
            attempts.append(work.attempt)
            time.sleep(3.5)
            return {"text": "done"}

        self.serve("greet", slow, lease=1)
        self.assertEqual(self.client.start("greet.asked", {"name": "x"}).result(20), {"text": "done"})
        self.assertEqual(len(attempts), 1)

    def test_stop_waits_for_what_runs_and_gives_back_the_rest(self):
        began = threading.Semaphore(0)

        def handler(input, work):
            began.release()
            time.sleep(0.5 if input["name"] == "short" else 6)
            return {"text": input["name"]}

        worker = self.serve("greet", handler, concurrency=2, drain=2)
        short = self.client.start("greet.asked", {"name": "short"})
        long = self.client.start("greet.asked", {"name": "long"})
        began.acquire(timeout=10)
        began.acquire(timeout=10)
        worker.stop()
        self.assertEqual(short.result(1), {"text": "short"})
        self.assertEqual(worker.stats.released, 1)
        self.serve("greet", lambda input: {"text": "by another"})
        self.assertEqual(long.result(4), {"text": "by another"})  # well before the lease of 30 s is over

    def test_a_worker_goes_on_with_a_new_server(self):
        worker = self.serve("greet", lambda input: {"text": "hello"})
        self.client.start("greet.asked", {"name": "x"}).result(10)
        self.server.kill()
        time.sleep(0.5)
        self.server.start()
        job = self.client.start("greet.asked", {"name": "x"}, id=f"after-{self.stream}")
        self.assertEqual(job.result(20), {"text": "hello"})
        # The first answer may have died with the server.
        until(lambda: worker.stats.completed + worker.stats.fenced >= 2)

    def test_what_is_no_json_fails_one_attempt_and_no_other(self):
        self.serve(
            "greet", lambda input: {"text": object()} if input["name"] == "bad" else {"text": "good"}, concurrency=8
        )
        bad = self.client.start("greet.asked", {"name": "bad"})
        good = self.client.start("greet.asked", {"name": "good"})
        self.assertEqual(good.result(10), {"text": "good"})
        self.assertEqual(bad.wait(10).status, "failed")


class StreamWorkerTest(WorkerTest):
    stream = True


class ByHandTest(unittest.TestCase):
    """The protocol without `Worker`."""

    def test_several_answers_in_one_request_and_new_work_with_them(self):
        server = Server()
        try:
            client = Client(server.url)
            client.deploy(app)
            jobs = client.start_many([Start("greet.asked", {"name": str(n)}) for n in range(4)])
            work = []
            until(lambda: work.extend(client.take(["greet"], max=3 - len(work), worker="by-hand")) or len(work) == 3)
            answers = [Answer(one.token, "complete", {"text": one.input["name"]}) for one in work] + [
                Answer("no-such-token", "complete", {})
            ]
            results, more = client.answer(answers, {"topics": ["greet"], "max": 5, "wait": "5s"})
            self.assertEqual([result.ok for result in results], [True, True, True, False])
            self.assertIsNotNone(results[3].problem)
            self.assertEqual(len(more), 1)
            more[0].complete({"text": more[0].input["name"]})
            self.assertEqual(sorted(job.result(10)["text"] for job in jobs), ["0", "1", "2", "3"])
            with self.assertRaises(pawl.LostWork):
                more[0].fail("too late")
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
