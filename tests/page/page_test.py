"""The page in a headless Chromium, on a real server: what it shows, what its buttons do, and how soon it is there."""

from __future__ import annotations

import os
import sys
import time
import unittest
from pathlib import Path
from urllib.parse import quote

sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clients"))
from browser import Browser, find_chromium  # noqa: E402
from server import Server, app, root, until  # noqa: E402

from pawl import Client, Failure, Filter, Start, Worker  # noqa: E402

page_folder = root / "src" / "serve" / "page"
evil = "<img src=x onerror=alert(1)>"


class PageTest(unittest.TestCase):
    token = ""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(token=cls.token)
        cls.client = Client(cls.server.url, token=cls.token)
        cls.client.deploy(app)
        cls.bank_open = True
        cls.worker = Worker(cls.client, wait=2, name="page-test")
        cls.worker.serve("greet", lambda input: {"text": f"hello {input['name']}"})
        cls.worker.serve("charge", cls.charge)
        cls.worker.serve("ship", lambda input: {})
        cls.worker.serve("pay", cls.pay)
        cls.worker.start()
        cls.browser = Browser(find_chromium())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.worker.stop()
        cls.server.stop()

    @classmethod
    def charge(cls, input):
        if not cls.bank_open:
            raise Failure(f"the bank is closed {evil}", code=503)
        return {"payment": "p"}

    @classmethod
    def pay(cls, input):
        if not cls.bank_open:
            raise Failure("declined", code=402, retryable=False)
        return {"paid": True}

    def open(self, place="", **look):
        self.page = self.browser.page(**look)
        self.page.goto(f"{self.server.url}/{place}")
        return self.page

    def setUp(self):
        type(self).bank_open = True

    def tearDown(self):
        if getattr(self, "page", None):
            self.assertEqual(self.page.errors(), [])
            shots = os.environ.get("PAWL_SCREENSHOTS")
            if shots:
                self.page.screenshot(f"{shots}/{self.id().rsplit('.', 1)[1]}.png")
            self.page = None

    def waiting_order(self, id, **more):
        job = self.client.start("order.placed", {"cents": 100}, id=id, **more)
        until(lambda: [one for one in job.get().activities if one.name == "approval" and one.waits_for])
        return job


class JobsTest(PageTest):
    def test_jobs_are_listed_counted_and_filtered(self):
        for n in range(3):
            self.client.start("greet.asked", {"name": "x"}, id=f"done-{n}").result(10)
        self.waiting_order("waits-1")
        page = self.open()
        page.wait("[...document.querySelectorAll('td.id a')].some(a => a.textContent === 'waits-1')")
        counts = self.client.count()
        page.wait(f"document.querySelector('.chip[data-state=all] b').textContent === '{counts.total}'")
        page.wait(
            f"document.querySelector('.chip[data-state=completed] b').textContent === '{counts.states['completed']}'"
        )
        page.click(".chip[data-state=running]")
        page.wait(
            "location.hash.includes('status=running') && document.querySelector('tbody')?.innerText.includes('waits-1')"
        )
        page.wait("[...document.querySelectorAll('.jobs .pill')].every(p => p.textContent === 'running')")
        page.click(".chip[data-state=all]")
        page.eval(  # at once, before the first choice is drawn
            "(i => { i.value = 'shop/greet.asked'; i.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector('[name=graph]'))"
        )
        page.wait(
            "location.hash.includes('greet.asked') && document.querySelectorAll('.jobs td.graph').length && [...document.querySelectorAll('.jobs td.graph')].every(c => c.textContent === 'shop/greet.asked')"
        )
        self.assertNotIn("status=", page.eval("location.hash"))

    def test_of_two_choices_at_once_none_is_lost(self):
        page = self.open("#/jobs?status=running")
        page.wait("!!document.querySelector('.chip[data-state=failed]')")
        page.eval(
            "(() => { const graph = document.querySelector('[name=graph]');"
            "document.querySelector('.chip[data-state=failed]').click();"
            "graph.value = 'shop/greet.asked'; graph.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )
        page.wait("location.hash.includes('status=failed') && location.hash.includes('greet.asked')")

    def test_a_count_does_not_take_the_chip_from_below_the_pointer(self):
        page = self.open()
        page.wait("document.querySelector('.chip[data-state=all] b')?.textContent.length > 0")
        page.wait("document.getElementById('live').dataset.state === 'live'")
        page.eval("window.chip = document.querySelector('.chip[data-state=running]'); 1")
        before = page.eval("window.chip.innerText")
        self.waiting_order("counted-1")
        page.wait(f"document.querySelector('.chip[data-state=running]').innerText !== {before!r}")
        self.assertTrue(page.eval("window.chip.isConnected"))

    def test_the_list_is_live(self):
        page = self.open()
        page.wait("document.getElementById('live').dataset.state === 'live'")
        job = self.waiting_order("live-1")
        page.wait(
            "[...document.querySelectorAll('tr')].some(r => r.innerText.includes('live-1') && r.innerText.includes('running'))"
        )
        job.interrupt("that is all")
        page.wait(
            "[...document.querySelectorAll('tr')].some(r => r.innerText.includes('live-1') && r.innerText.includes('interrupted'))"
        )

    def test_jobs_that_another_server_runs_are_seen_too(self):
        other = Server(store=self.server.store)  # on a file it runs no job, on a server only its share
        try:
            self.page = page = self.browser.page()
            page.goto(f"{other.url}/#/jobs?namespace=elsewhere")
            page.wait("document.getElementById('live').dataset.state === 'live'")
            page.wait("!!document.querySelector('.empty')")
            self.waiting_order("elsewhere-1", namespace="elsewhere")
            page.wait("document.querySelector('td.id a')?.textContent === 'elsewhere-1'")
            self.assertEqual(page.errors(), [])
        finally:
            self.page = None
            other.stop()

    def test_the_page_goes_on_after_the_server_was_killed(self):
        self.waiting_order("before-the-kill", namespace="killed")
        page = self.open("#/jobs?namespace=killed")
        page.wait("document.getElementById('live').dataset.state === 'live'")
        self.server.kill()
        page.wait("document.getElementById('live').dataset.state === 'connecting'")
        self.server.start()
        self.waiting_order("after-the-kill", namespace="killed")
        page.wait("[...document.querySelectorAll('td.id a')].some(a => a.textContent === 'after-the-kill')")
        page.wait("document.getElementById('live').dataset.state === 'live'")
        self.page = None  # the browser itself reports that the server was gone

    def test_a_filter_that_cannot_be_read_says_so_and_stays(self):
        page = self.open("#/jobs?since=yesterday")
        page.wait("document.querySelector('.empty')?.innerText.includes('yesterday')")
        self.assertEqual(page.eval("document.querySelector('[name=since]').value"), "yesterday")
        self.page = None  # the browser itself reports the 400

    def test_many_jobs_are_shown_page_by_page(self):
        for job in self.client.start_many(
            [Start("greet.asked", {"name": "x"}, id=f"page-{n:03}", namespace="pages") for n in range(120)]
        ):
            job.result(20)
        page = self.open("#/jobs?namespace=pages")
        rows = "document.querySelectorAll('.jobs tbody tr').length"
        page.wait(f"{rows} === 50")
        self.assertEqual(page.eval("document.querySelector('td.id a').textContent"), "page-119")
        page.click(".pager button", "Older")
        page.wait("document.querySelector('td.id a')?.textContent === 'page-069'")
        page.key("n")
        page.wait(f"document.querySelector('td.id a')?.textContent === 'page-019' && {rows} === 20")
        page.key("p")
        page.wait("document.querySelector('td.id a')?.textContent === 'page-069'")
        page.click(".pager button", "← Newer")
        page.wait("document.querySelector('td.id a')?.textContent === 'page-119'")

    def test_the_keyboard_is_enough(self):
        self.waiting_order("keys-1", namespace="keys")
        self.waiting_order("keys-2", namespace="keys")
        self.waiting_order("keys-3")
        page = self.open("#/jobs?namespace=keys")
        page.wait("document.querySelectorAll('.jobs tbody tr').length === 2")
        page.key("?")
        page.wait(
            "document.querySelector('dialog[open]')?.innerText.includes('Interrupt') || document.querySelector('dialog[open]')?.innerText.includes('interrupt')"
        )
        page.key("Escape")
        page.wait("!document.querySelector('dialog')")
        page.key("j")
        page.key("j")
        self.assertEqual(page.eval("document.activeElement.textContent"), "keys-1")
        self.assertNotEqual(page.eval("getComputedStyle(document.activeElement).outlineStyle"), "none")
        page.key("Enter")
        page.wait("document.querySelector('h1')?.textContent === 'keys-1'")
        page.key("Escape")
        page.wait("document.querySelectorAll('.jobs tbody tr').length > 1")
        page.key("g")
        page.key("t")
        page.wait(
            "document.querySelector('[data-view=topics]').ariaCurrent === 'page' && !!document.querySelector('tr[data-key=greet]')"
        )
        page.key("/")
        page.wait("document.activeElement.id === 'find'")
        page.type("keys-3")
        page.key("Enter")
        page.wait("document.querySelector('h1')?.textContent === 'keys-3'")

    def test_a_job_is_started_by_hand(self):
        page = self.open()
        page.click(".pager button", "Start a job")
        page.wait("!!document.querySelector('dialog [name=input]')")
        page.eval("document.querySelector('dialog [name=graph]').value = 'greet.asked'")
        page.eval("document.querySelector('dialog [name=id]').value = 'by-hand'")
        page.eval("document.querySelector('dialog [name=input]').value = '{\"name\": \"Bob\"}'")
        page.click("dialog button", "Start")
        page.wait("document.querySelector('h1')?.textContent === 'by-hand'")
        page.wait("document.querySelector('.part-data').innerText.includes('hello Bob')")

    def test_all_jobs_of_a_filter_are_redriven(self):
        type(self).bank_open = False
        jobs = [self.client.start("order.placed", {"cents": n}, id=f"bulk-{n}", namespace="bulk") for n in range(3)]
        for job in jobs:
            self.assertEqual(job.wait(20).status, "parked")
        type(self).bank_open = True
        page = self.open("#/jobs?namespace=bulk&status=parked")
        page.wait("document.querySelectorAll('.jobs tbody tr').length === 3")
        page.click(".pager button", "All of these")
        page.click("dialog button", "Go on")
        page.wait("document.querySelector('dialog h2')?.textContent === 'Redrive 3 jobs?'")
        page.click("dialog button", "Redrive 3 jobs")
        page.wait("document.getElementById('toasts').innerText.includes('3 done')")
        self.assertEqual(page.eval("document.querySelectorAll('.toast[data-kind=bad]').length"), 0)
        until(lambda: self.client.count(Filter(namespace="bulk")).states == {"running": 3})

    def test_little_stands_before_the_first_paint(self):
        """What makes it quick, without a clock (bench/page_paint.py has one): the browser paints when it has the document and one
        style sheet, and the first rows take one request for one page of jobs without their data."""
        self.client.start("greet.asked", {"name": "x" * 100_000}, id="large").result(10)
        page = self.open()
        page.wait("document.querySelectorAll('.jobs tbody tr').length > 0")
        page.wait("document.getElementById('live').dataset.state === 'live'")
        resources = page.eval(
            "performance.getEntriesByType('resource').map(r => [r.name, r.renderBlockingStatus, r.decodedBodySize])"
        )
        blocking = [(name.rsplit("/", 1)[1], size) for name, status, size in resources if status == "blocking"]
        self.assertEqual([name for name, _ in blocking], ["style.css"])
        document = len((page_folder / "index.html").read_bytes())
        self.assertLess(document + blocking[0][1], 32_000)
        lists = [(name, size) for name, _, size in resources if "/v1/jobs?" in name]
        self.assertIn("limit=50", lists[0][0])
        self.assertLess(lists[0][1], 50_000)  # without the 100,000 characters of a job's data
        asked = [url for url in page.requests() if url.startswith(self.server.url)]
        before_rows = asked[: 1 + next(at for at, url in enumerate(asked) if "/v1/jobs?" in url)]
        self.assertLessEqual(len(before_rows), 14, before_rows)
        self.assertEqual([url for url in page.requests() if not url.startswith((self.server.url, "data:"))], [])
        self.assertLess(sum(file.stat().st_size for file in page_folder.iterdir()), 100_000)

class JobTest(PageTest):
    def test_a_job_is_drawn_and_coloured_as_it_goes(self):
        job = self.waiting_order("draw-1")
        page = self.open("#/job/draw-1")
        state = "document.querySelector('svg [data-activity={}]')?.dataset.state"
        page.wait(f"{state.format('approval')} === 'waiting'")
        self.assertEqual(page.eval(state.format("charge")), "completed")
        self.assertEqual(page.eval(state.format("ship")), "idle")
        self.assertIn("order.approved", page.text(".part-now"))
        self.assertIn("draw-1", page.text(".part-now"))
        page.wait("document.getElementById('live').dataset.state === 'live'")
        job.signal("order.approved", {"order": "draw-1", "by": "Ann"})
        page.wait(f"{state.format('ship')} === 'completed'")  # by the event stream
        page.wait("document.querySelector('.job-head .pill').textContent === 'completed'")
        self.assertIn("Ann", page.text(".part-data"))
        self.assertEqual(page.eval("document.querySelectorAll('.part-times .bar-time').length"), 4)
        page.click(".part-times summary")
        page.wait("document.querySelector('.events ol').innerText.includes('Job ended')")
        page.click("svg [data-activity=charge]")
        page.wait(
            "document.querySelectorAll('.activity').length === 1 && document.querySelector('.activity[open]')?.innerText.includes('payment')"
        )

    def test_a_signal_is_sent_from_the_page(self):
        job = self.waiting_order("button-1")
        page = self.open("#/job/button-1")
        page.click(".part-now button", "Signal")
        page.wait("document.querySelector('dialog [name=topic]').value === 'order.approved'")
        page.eval("document.querySelector('dialog textarea').value = '{broken'")
        page.click("dialog button", "Send")
        page.wait("document.querySelector('.field-problem').textContent.includes('not JSON')")
        page.eval('document.querySelector(\'dialog textarea\').value = \'{"order": "button-1", "by": "the page"}\'')
        page.click("dialog button", "Send")
        self.assertEqual(job.result(10)["by"], "the page")
        page.wait("document.querySelector('.job-head .pill').textContent === 'completed'")

    def test_a_task_of_a_person_is_claimed_and_resolved(self):
        job = self.client.start("leave.asked", {"text": f"a week? {evil}"}, id="page-leave")
        until(lambda: list(self.client.tasks(job="page-leave")))
        page = self.open("#/job/page-leave")
        page.wait("document.querySelector('.part-people li')?.textContent.includes('a week? <img')")
        self.assertIn("boss", page.text(".part-people li"))
        page.click(".part-people button", "Claim")
        page.eval("document.querySelector('dialog [name=who]').value = 'Ann'")
        page.click("dialog button", "Claim")
        page.wait("document.querySelector('.part-people li')?.textContent.includes('claimed by Ann')")
        self.assertEqual(next(self.client.tasks(job="page-leave")).claimed_by, "Ann")
        page.click(".part-people button", "Resolve")
        self.assertEqual(page.eval("document.querySelector('dialog [name=who]').value"), "Ann")
        page.eval('document.querySelector("dialog textarea").value = \'{"granted": true}\'')
        page.click("dialog button", "Resolve")
        self.assertEqual(job.wait(10).data, {"granted": True})
        page.wait("document.querySelector('.part-people').hidden")

    def test_the_picture_is_of_the_version_that_the_job_runs_on(self):
        self.client.start("leave.asked", {"text": "x"}, id="page-old")
        changed = app.replace('version: "1"', 'version: "1.1-next"').replace("decide", "judge")
        self.client.deploy(changed)
        try:
            self.client.start("leave.asked", {"text": "x"}, id="page-new")
            for id, version, activity in (("page-old", "1", "decide"), ("page-new", "1.1-next", "judge")):
                page = self.open(f"#/job/{id}")
                page.wait(f"!!document.querySelector('.part-graph [data-activity={activity}]')")
                self.assertEqual(page.text(".facts .tag"), version)
                self.assertEqual(page.errors(), [])
        finally:
            self.client.activate("shop", "1")

    def test_a_job_is_paused_resumed_and_interrupted_after_a_question(self):
        job = self.waiting_order("button-2")
        page = self.open("#/job/button-2")
        page.click(".job-head button", "Pause")
        page.click("dialog button", "Leave")
        page.wait("!document.querySelector('dialog')")
        self.assertEqual(job.get().status, "running")
        page.key("u")
        page.wait("!!document.querySelector('dialog [name=reason]')")
        page.type("lunch")
        page.key("Enter")
        page.wait("document.querySelector('.job-head .pill').textContent === 'paused'")
        page.click(".job-head button", "Resume")
        page.click("dialog button", "Resume")
        page.wait("document.querySelector('.job-head .pill').textContent === 'running'")
        page.click(".job-head button", "Interrupt")
        page.click("dialog button", "Interrupt")
        page.wait("document.querySelector('.job-head .pill').textContent === 'interrupted'")
        page.wait("document.querySelector('svg [data-activity=approval]')?.dataset.state === 'unfinished'")
        self.assertTrue(page.eval("document.querySelector('.part-now').hidden"))  # it waits for nothing any more
        page.click(".job-head button", "Remove")
        page.click("dialog button", "Remove")
        page.wait("location.hash === '#/jobs'")
        self.assertEqual([error for error in page.errors() if "404" not in error], [])
        self.page = None  # the browser itself reports a 404, if the page looked at the job once more

    def test_a_job_that_is_removed_elsewhere_is_not_shown_as_if_it_were_there(self):
        job = self.waiting_order("removed-1")
        page = self.open("#/job/removed-1")
        page.wait("document.getElementById('live').dataset.state === 'live'")
        job.interrupt()
        page.wait("document.querySelector('.job-head .pill')?.textContent === 'interrupted'")
        job.remove()
        page.wait("document.querySelector('.empty')?.innerText.includes('removed')")
        self.page = None  # the browser itself reports the 404

    def test_errors_are_shown_as_text_and_a_parked_job_is_redriven(self):
        type(self).bank_open = False
        job = self.client.start("order.placed", {"cents": evil}, id="evil/$1,=@+")
        self.assertEqual(job.wait(20).status, "parked")
        page = self.open("#/job/" + quote(job.id, safe=""))
        page.wait("document.querySelector('.job-head .pill')?.textContent === 'parked'")
        page.wait("!!document.querySelector('svg [data-activity=charge]')")
        self.assertIn(job.id, page.text("h1"))
        self.assertIn(evil, page.text(".part-data"))
        self.assertIn(evil, page.text(".job-head"))  # in the reason
        self.assertIn("the bank is closed", page.text())
        self.assertEqual(page.eval("document.querySelectorAll('img').length"), 0)
        type(self).bank_open = True
        page.click(".job-head button", "Redrive")
        page.click("dialog button", "Redrive")
        page.wait("document.querySelector('svg [data-activity=approval]')?.dataset.state === 'waiting'")

    def test_a_failed_job_goes_on_in_a_new_run(self):
        type(self).bank_open = False
        job = self.client.start("payment.due", {}, id="failed-1")
        self.assertEqual(job.wait(20).status, "failed")
        type(self).bank_open = True
        page = self.open("#/jobs?error=declined")
        page.click("td.id a", "failed-1")
        page.wait("document.querySelector('.banner')?.textContent.includes('declined')")
        page.key("d")
        page.wait("!!document.querySelector('dialog[open]')")
        page.key("Enter")
        page.wait("document.querySelector('.job-head .pill')?.textContent === 'completed'")
        page.wait("document.querySelector('.job-head').innerText.includes('An earlier run failed')")
        # The failed run is removed: a read that was on its way finds it gone, and the browser itself reports the 404.
        self.assertEqual([error for error in page.errors() if "404" not in error], [])
        self.page = None

    def test_a_job_that_is_not_there_is_named(self):
        page = self.open("#/job/nowhere")
        page.wait("document.querySelector('.empty')?.innerText.includes('nowhere')")
        self.assertEqual([error for error in page.errors() if "404" not in error], [])
        self.page = None  # the browser itself reports the 404

    def test_it_fits_a_phone_in_the_dark(self):
        self.waiting_order("phone-1")
        self.client.start("leave.asked", {"text": "a week in the mountains?"}, id="phone-2")
        until(lambda: list(self.client.tasks(job="phone-2")))
        for place in ("#/jobs", "#/topics", "#/apps/shop", "#/job/phone-1", "#/job/phone-2"):
            page = self.open(place, width=375, height=700, phone=True, dark=True)
            page.wait("!!document.querySelector('.card .pill, .card tr, .part-graph svg')")
            time.sleep(0.3)
            self.assertLessEqual(page.eval("document.documentElement.scrollWidth"), 375, place)
            light = page.eval(
                "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((a, b) => a + +b, 0)"
            )
            self.assertLess(light, 150)


class TopicsTest(PageTest):
    def test_topics_show_who_serves_and_can_be_paused(self):
        self.waiting_order("topics-1")
        page = self.open("#/topics")
        page.wait("document.querySelector('tr[data-key=charge]')?.innerText.includes('1 worker')")
        self.assertIn("page-test", page.text("[aria-label=Workers]"))
        page.click("tr[data-key=ship] button", "Pause")
        page.click("dialog button", "Pause")
        page.wait("document.querySelector('tr[data-key=ship]').innerText.includes('paused')")
        self.assertTrue(next(one for one in self.client.topics() if one.topic == "ship").paused)
        page.click("tr[data-key=ship] button", "Resume")
        page.click("dialog button", "Resume")
        page.wait("!document.querySelector('tr[data-key=ship]').innerText.includes('paused')")

    def test_apps_are_listed_and_drawn(self):
        page = self.open("#/apps")
        page.click("td.id a", "shop")
        page.wait("document.querySelectorAll('.part-graph svg [data-activity]').length > 5")


class TokenTest(PageTest):
    token = "a-token-of-this-test-1"

    def test_the_token_is_asked_for_once_and_kept_in_the_tab(self):
        page = self.open()
        page.wait("!!document.querySelector('dialog input[type=password]')")
        self.assertEqual(page.eval("document.querySelectorAll('dialog').length"), 1)
        page.type("wrong")
        page.key("Enter")
        page.wait("document.querySelector('dialog input')?.value === ''")
        page.type(self.token)
        page.key("Enter")
        page.wait("!document.querySelector('dialog') && !!document.querySelector('.empty')")
        page.goto(f"{self.server.url}/#/topics")
        page.wait("document.getElementById('live').dataset.state === 'live'")
        self.assertEqual(page.eval("sessionStorage.length + localStorage.length + document.cookie.length"), 1)
        self.assertFalse([url for url in page.requests() if self.token in url])
        self.page = None  # the browser itself reports the 401


class SourceTest(unittest.TestCase):
    def test_the_page_never_makes_html_of_text(self):
        for file in page_folder.glob("*.js"):
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
                self.assertNotIn(word, file.read_text(), file.name)

    def test_every_module_is_there(self):
        text = "".join(file.read_text() for file in page_folder.iterdir())
        for name in {part.split('"')[0] for part in text.split('"./')[1:]} | {
            part.split('"')[0] for part in text.split('="page/')[1:]
        }:
            self.assertTrue((page_folder / name).exists(), name)


del PageTest  # it has no tests of its own

if __name__ == "__main__":
    unittest.main()
