"""Stories of Learn, in Chromium: what a user does with runs of training, and sees."""

import json
import os
import signal
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np

import handloom as hl
from handloom.core.files import load_file
from handloom.core.params import flatten
from studio_browser import browser, page, studio

__all__ = ["browser", "page", "studio"]  # fixtures

TINY = {"layers": 1, "heads": 2, "width": 16, "batch": 4, "every": 40, "samples": 8, "count": 100}
STATE = ".run-head .state"


def start(page, steps, task="s[3]==s[7]", **more):
    """Start a run by the form; its folder."""
    page.load("screen=learn")
    page.until("return Boolean(document.querySelector('.form #task'))")
    page.fill(task=task, steps=steps, **{**TINY, **more})
    page.press("Start")
    page.until("return location.hash.includes('run=')")
    return decoded(page.run("return location.hash"))["run"]


def decoded(hash):
    from urllib.parse import unquote

    return dict(pair.split("=", 1) for pair in unquote(hash.removeprefix("#")).split("&"))


def jobs(page):
    address, _, key = page.address.partition("/#key=")
    with urlopen(Request(f"{address}/api/jobs", headers={"X-Handloom-Key": key})) as answer:
        return json.load(answer)


def lines(path):
    return [json.loads(line) for line in (Path(path) / "metrics.jsonl").read_text().splitlines()]


def test_a_run_is_started_its_loss_appears_it_is_stopped_saved_and_resumed_to_the_same_bits(page, tmp_path):
    folder = start(page, 20_000)
    page.until_text(STATE, "training")
    page.until("return document.querySelector('.chart canvas')?.getAttribute('aria-label').match(/held out \\d/)")
    page.until("return document.querySelectorAll('.samples u').length >= 8")
    assert page.run("return document.querySelectorAll('.heads .head').length") == 2
    page.press("Stop")
    page.until_text(STATE, "stopped, saved")
    stopped = hl.load(str(page.folder / folder)).notes["steps"]
    goal = stopped + 60
    page.run("document.querySelector('.again input').value = arguments[0]", str(goal))
    page.press("Resume")
    page.until_text(STATE, "done")
    assert f"step {goal:,} of {goal:,}" in page.until_text(".pace", f"step {goal:,}")
    whole = hl.train("s[3]==s[7]", steps=goal, folder=tmp_path / "whole", **TINY)
    resumed = load_file(page.folder / folder / "model.safetensors")
    assert same_arrays(resumed, whole.model())
    assert page.run("return document.querySelectorAll('.run-list a').length") == 1


def same_arrays(one, other):
    a, b = (flatten(model.params) for model in (one, other))
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_a_worker_that_is_killed_is_told_in_one_line_and_resumed(page):
    folder = start(page, 20_000)
    page.until("return document.querySelector('.chart canvas')?.getAttribute('aria-label').match(/held out \\d/)")
    (job,) = [job for job in jobs(page) if job["state"] == "running"]
    os.kill(job["pid"], signal.SIGKILL)
    page.until_text(".run-head .error", "was killed (signal 9); resume continues from its last checkpoint")
    assert page.text(STATE) == "failed"
    before = len(lines(page.folder / folder))
    page.press("Resume")
    page.until_text(STATE, "training")
    page.until("return document.querySelector('.run-head .error').hidden")
    page.until_text(".pace", "steps per second")
    page.press("Stop")
    page.until_text(STATE, "stopped, saved")
    assert len(lines(page.folder / folder)) >= before


def test_a_kept_step_is_opened_in_run(page):
    start(page, 40, keep=20)
    page.until_text(STATE, "done")
    link = "[...document.querySelectorAll('.kept a')].find((one) => one.textContent === 'step 20')"
    page.until(f"const a = {link}; a?.click(); return Boolean(a)")
    page.until("return Boolean(globalThis.loom?.facts)")
    assert decoded(page.run("return location.hash"))["model"].endswith("model-20.safetensors")
    assert "20" in page.run("return document.querySelector('#screen h1').textContent")


def test_a_rate_of_a_million_ends_in_one_line_and_the_page_stays_alive(page):
    start(page, 400, rate="1e6")
    message = page.until_text(".run-head .error", "rate")
    assert "\n" not in message
    assert page.text(STATE) == "failed"
    start(page, 20)
    page.until_text(STATE, "done")


def test_the_tab_is_closed_and_opened_again_and_all_is_there(page):
    folder = start(page, 20_000)
    page.until("return document.querySelectorAll('.samples li').length")
    page.until("return document.querySelectorAll('.heads .head').length === 2")
    page.load("screen=learn")
    page.until_text(STATE, "training")
    assert folder in page.until_text(".pace", folder)
    page.until("return document.querySelectorAll('.samples li').length")
    page.until("return document.querySelectorAll('.heads .head').length === 2")
    page.press("Stop")
    page.until_text(STATE, "stopped, saved")
    page.load(f"screen=learn&run={folder}")
    page.until("return document.querySelector('.chart canvas')?.getAttribute('aria-label').match(/held out \\d/)")


def test_a_task_of_the_list_goes_into_the_form_by_a_click(page):
    page.load("screen=learn&task=parity")  # a run may be at work, which would be shown
    page.until("return document.querySelectorAll('.offer').length")
    page.run("[...document.querySelectorAll('.offer')].find((one) => one.textContent.startsWith('dyck')).click()")
    assert page.run("return document.querySelector('#task').value") == "dyck"
    page.until_text(".subject .soft", "balanced brackets")


def test_a_task_that_is_none_is_refused_in_one_line_beside_the_form(page):
    page.load("screen=learn")
    page.until("return Boolean(document.querySelector('.form #task'))")
    page.fill(task="adition", steps=10)
    page.press("Start")
    assert "addition" in page.until_text(".form .error", "adition")
    page.fill(task="parity", layers="many")
    page.press("Start")
    page.until_text(".form .error", "layers: many is no number")
