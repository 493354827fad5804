"""Events and announcements as they happen, across lost connections and a killed server."""

import sys
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "clients"))
from server import Proxy, Server, app  # noqa: E402

from pawl import Client, Worker  # noqa: E402


class EventsTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.client = Client(self.server.url)
        self.client.deploy(app)
        self.worker = Worker(self.client, wait=2)
        self.worker.serve("greet", lambda input: {"text": "hello"})
        self.worker.serve("charge", lambda input: {"payment": 1})
        self.worker.serve("ship", lambda input: {})
        self.worker.start()

    def tearDown(self):
        self.worker.stop()
        self.server.stop()

    def test_the_events_of_a_job_come_in_order(self):
        with self.client.events(job="e-1") as events:
            self.client.start("greet.asked", {"name": "Ann"}, id="other").result(10)
            self.client.start("greet.asked", {"name": "Ann"}, id="e-1")
            seen = []
            for event in events:
                self.assertEqual(event.job, "e-1")
                seen.append((event.kind, event.activity))
                if event.kind == "job_closed":
                    break
        self.assertEqual(seen[0][0], "job_started")
        self.assertIn(("activity_opened", "greet"), seen)
        self.assertLess(seen.index(("activity_opened", "greet")), seen.index(("activity_closed", "greet")))

    def test_after_a_lost_connection_nothing_is_missing_and_nothing_comes_twice(self):
        proxy = Proxy(self.server.port)
        events = Client(proxy.url).events(graph="shop/greet.asked")
        seen, ended = [], threading.Event()

        def read():
            for event in events:
                self.assertNotEqual(event.kind, "reset")
                if event.kind == "job_closed":
                    seen.append(event.job)
                    if len(seen) == 30:
                        ended.set()

        reader = threading.Thread(target=read)
        reader.start()
        for n in range(30):
            if n % 10 == 5:
                proxy.cut()
            self.client.start("greet.asked", {"name": "x"}, id=f"cut-{n}").result(10)
        self.assertTrue(ended.wait(20), f"only {seen}")
        events.close()
        reader.join(10)
        self.assertFalse(reader.is_alive())
        self.assertEqual(sorted(seen), sorted(f"cut-{n}" for n in range(30)))
        proxy.close()

    def test_a_new_server_says_that_events_were_missed(self):
        with self.client.events() as events:
            self.client.start("greet.asked", {"name": "x"}, id="before")
            for event in events:
                if event.kind == "job_closed":
                    break
            self.server.kill()
            self.server.start()
            self.assertEqual(next(events).kind, "reset")
            self.client.start("greet.asked", {"name": "x"}, id="behind")
            self.assertTrue(any(event.job == "behind" for event in events))

    def test_a_result_is_waited_for_across_a_killed_server(self):
        job = self.client.start("order.placed", {"cents": 1}, id="patient")
        found = []
        waiter = threading.Thread(target=lambda: found.append(job.result(30)))
        waiter.start()
        time.sleep(0.3)
        self.server.kill()
        time.sleep(0.3)
        self.server.start()
        self.client.signal("order.approved", {"order": "patient", "by": "Ann"})
        waiter.join(30)
        self.assertEqual(found[0]["by"], "Ann")

    def test_announcements_go_on_behind_a_cursor(self):
        stream = self.client.announcements(topic="order.settled", namespace="said")
        for n in range(2):
            job = self.client.start("order.placed", {"cents": n}, id=f"said-{n}", namespace="said")
            job.signal("order.approved", {"order": f"said-{n}", "by": "x"})
            job.result(10)
        first = next(stream)
        stream.close()
        self.assertEqual((first.job, first.topic, first.end), ("said-0", "order.settled", True))
        with self.client.announcements(topic="order.settled", namespace="said", last_id=first.cursor) as rest:
            self.assertEqual(next(rest).job, "said-1")


if __name__ == "__main__":
    unittest.main()
