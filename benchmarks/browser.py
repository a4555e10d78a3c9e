"""Pages and the studio in Chromium: what a user waits for, beside the bar that it is held to.

    python benchmarks/browser.py            # everything; --only drag for one part

Medians and 95th percentiles of many moves, on whatever else the machine does; the bars are for a quiet laptop.
`pages` is a page from file:// until its first picture; `drag` a weight changed until the new picture is computed and
drawn, and the longest time the page did not answer meanwhile; `hover` a pointer over the figure; `exam` 200 inputs
judged again; `studio` the command until a painted hello; `run` an event on its way to the page, and the end of a run.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
from selenium import webdriver

import handloom as hl
from handloom.core import Config, Model, Vocab, params
from handloom.view.pages.live import page

BROWSER, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --allow-file-access-from-files"
)
MOVES = 80
SETTLED = 1.5  # seconds, after which a page has checked itself and marked its exam
LETTERS = "abcdefghijklmnopqrstuvwxyz."
SAVED = 40  # kept models whose events are followed
FOLLOW = """
const key = { "X-Handloom-Key": sessionStorage.getItem("handloom-key") };
globalThis.told = [];
globalThis.ask = (path, body) =>
  fetch(path, { method: "POST", headers: { ...key, "Content-Type": "application/json" }, body: JSON.stringify(body) });
(async () => {
  const reader = (await fetch("/api/events?after=0", { headers: key })).body.pipeThrough(new TextDecoderStream());
  let text = "";
  for await (const part of reader) {
    const lines = (text + part).split("\\n");
    text = lines.pop();
    for (const line of lines) told.push({ ...JSON.parse(line), at: Date.now(), data: 0 });
  }
})();
ask("/api/jobs", { kind: "learn", task: "s[3]==s[7]", choices: { steps: 100000, every: 200, keep: 20, layers: 2 } });
"""
STOP = """
const done = arguments[arguments.length - 1], began = Date.now();
ask("/api/jobs/halt", { job: Number(told[0].job) });
function wait() {
  const end = told.find((one) => one.type === "done");
  return end ? done(end.at - began) : setTimeout(wait, 5);
}
wait();
"""
READY = "return Boolean(globalThis.loom && loom.facts && document.querySelector('.answer').textContent)"

DRAG = """
const [moves, done] = [arguments[0], arguments[arguments.length - 1]];
const desk = globalThis.loom, times = [], blocked = [];
new PerformanceObserver((list) => blocked.push(...list.getEntries().map((one) => one.duration)))
  .observe({ entryTypes: ["longtask"] });
const gather = desk.gather.bind(desk);
let began = 0, computed = 0;
desk.gather = () => { gather(); computed = performance.now() - began; };
let i = 0;
function move() {
  if (i++ >= moves) return setTimeout(() => done({ times, blocked }), 100);
  computed = 0;
  began = performance.now();
  desk.edit({ what: "layers.0.W_V", at: [0, 0, 0], value: Math.sin(i) }, i > 1);
  const wait = () => computed && !desk.waiting && desk.solved === desk.state.edits
    ? (times.push(computed + desk.drawMs), setTimeout(move, 0)) : requestAnimationFrame(wait);
  requestAnimationFrame(wait);
}
move();
"""
HOVER = """
const [moves, done] = [arguments[0], arguments[arguments.length - 1]];
const canvas = document.querySelector(".loom canvas, canvas.figure"), box = canvas.getBoundingClientRect();
const times = [];
let i = 0;
function move() {
  if (i++ >= moves) return done(times);
  const at = { clientX: box.left + 20 + (i * 97) % (box.width - 40), clientY: box.top + 20 + (i * 61) % 600 };
  const began = performance.now();
  canvas.dispatchEvent(new MouseEvent("mousemove", { ...at, bubbles: true }));
  const asked = performance.now() - began;
  requestAnimationFrame(() => setTimeout(() => { times.push(asked + (globalThis.loom.drawMs || 0)); move(); }, 0));
}
move();
"""
EXAM = """
const done = arguments[arguments.length - 1], shown = () => document.querySelector(".exam .line").lastChild.textContent;
const times = [], desk = globalThis.loom;
let i = 0;
function again() {
  if (i++ >= 8) return done(times);
  desk.edit({ what: "layers.0.W_V", at: [0, 0, 0], value: i / 7 }, i > 1);
  setTimeout(() => { times.push(parseFloat(shown())); again(); }, 1500);
}
again();
"""


def driver() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in OPTIONS.split():
        options.add_argument(option)
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    made.set_window_size(1300, 900)
    made.set_script_timeout(300)
    return made


def random_model(**sizes: Any) -> Model:
    """Untrained weights: what they are does not change how long it takes. The name is that of the sizes."""
    config = Config(vocab=27, **sizes)
    return Model(config, params.random(config, 0, dtype=np.float32), Vocab(tuple(LETTERS), separator=""))


def makemore(block: int) -> Model:
    return random_model(block=block, d_model=64, layers=4, heads=4, d_head=16, d_ff=256)


def larger(width: int) -> Model:
    return random_model(block=100, d_model=width, layers=8, heads=8, d_head=width // 8, d_ff=4 * width)


def text(length: int) -> str:
    return "".join(np.random.default_rng(0).choice([*LETTERS[:-1]], length))


def opened(browser: webdriver.Chrome, folder: Path, model: Model | str, on: str) -> tuple[int, float]:
    """Write a page and open it: its bytes, and ms from the first byte until the first picture was drawn."""
    file = page(model, on).save(folder / "page.html")
    browser.get("about:blank")
    browser.get(file.as_uri())
    until(browser, READY)
    paint = browser.execute_script("return performance.getEntriesByName('first picture')[0].startTime")
    time.sleep(SETTLED)
    return file.stat().st_size, float(paint)


def until(browser: webdriver.Chrome, script: str) -> None:
    end = time.monotonic() + 120
    while not browser.execute_script(script):
        assert time.monotonic() < end, script
        time.sleep(0.01)


def row(what: str, found: str, bar: str) -> None:
    print(f"{what:52} {found:34} {bar}", flush=True)


def told_of(times: list[float]) -> str:
    return f"{median(times):.1f} ms, 95 %: {quantiles(times, n=20)[-1]:.1f} ms"


PAGES: list[tuple[str, Callable[[], Model | str], str, str, str]] = [
    ("addition", lambda: "addition", "865+230=", "< 120 kB, < 300 ms", "< 8 ms"),
    ("4 layers, 64 wide, T = 40", lambda: makemore(40), text(40), "< 1.6 MB, < 800 ms", "< 16 ms"),
    ("4 layers, 64 wide, T = 200", lambda: makemore(200), text(200), "< 1.6 MB, < 800 ms", "< 50 ms"),
    ("8 layers, 8 heads, 128 wide, T = 100", lambda: larger(128), text(100), "", "< 120 ms"),
    ("8 layers, 8 heads, 32 wide, T = 100", lambda: larger(32), text(100), "< 1.2 MB", ""),
]


def pages(browser: webdriver.Chrome, folder: Path, parts: list[str]) -> None:
    for name, make, on, page_bar, drag_bar in PAGES:
        size, paint = opened(browser, folder, make(), on)
        if "pages" in parts:
            row(f"{name}: page, first picture", f"{size / 1000:,.0f} kB, {paint:.0f} ms", page_bar)
        if "drag" in parts:
            moved = browser.execute_async_script(DRAG, MOVES if size < 2e6 else MOVES // 2)
            blocked = max(moved["blocked"], default=0.0)
            row(f"{name}: drag", f"{told_of(moved['times'])}; blocked {blocked:.0f} ms", f"{drag_bar}; blocked < 50 ms")
        if "hover" in parts:
            row(f"{name}: hover", told_of(browser.execute_async_script(HOVER, MOVES)), "95 %: <= 16 ms")
        if "exam" in parts and name == "addition":
            row("exam of 200 additions", told_of(browser.execute_async_script(EXAM)), "< 150 ms")


def studio(browser: webdriver.Chrome, folder: Path) -> None:
    """The command as a user types it, to the picture."""
    words = [sys.executable, "-m", "handloom", "studio", "hello", "--no-open"]
    taken = []
    for _ in range(5):
        browser.get("about:blank")
        began = time.perf_counter()
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder)
        assert child.stdout is not None
        browser.get(child.stdout.readline().strip())
        until(browser, READY)
        taken.append(1000 * (time.perf_counter() - began))
        child.send_signal(signal.SIGINT)
        child.wait(20)
    row("handloom studio hello: painted", f"{median(taken):.0f} ms, least {min(taken):.0f} ms", "< 1,500 ms")


def run(browser: webdriver.Chrome, folder: Path) -> None:
    """A run of training, followed and stopped by a page: from a file that is saved to the page that is told of it, and
    from the click on Stop to a run that is saved and ended."""
    words = [sys.executable, "-m", "handloom", "studio", "--no-open"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder)
    assert child.stdout is not None
    browser.get("about:blank")
    browser.get(child.stdout.readline().strip())
    until(browser, "return Boolean(document.querySelector('#screen').children.length)")
    browser.execute_script(FOLLOW)
    until(browser, f"return told.filter((one) => one.type === 'saved').length > {SAVED}")
    stopped = browser.execute_async_script(STOP)
    told = browser.execute_script("return told")
    saved = [one for one in told if one["type"] == "saved"][:SAVED]
    late = [one["at"] - 1000 * (folder / one["file"]).stat().st_mtime for one in saved]
    row("an event, from the run to the page", told_of(late), "< 100 ms")
    ended = next(one for one in told if one["type"] == "done")
    row("a run stopped and saved", f"{stopped:.0f} ms, step {ended['step']}, halted: {ended['halted']}", "< 2,000 ms")
    child.send_signal(signal.SIGINT)
    child.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ["pages", "drag", "hover", "exam", "studio", "run"]
    parser.add_argument("--only", choices=parts, help="one part")
    wanted = [only] if (only := parser.parse_args().only) else parts
    print(f"Chromium, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; handloom {hl.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        browser = driver()
        try:
            if set(wanted) - {"studio", "run"}:
                pages(browser, Path(folder), wanted)
            if "studio" in wanted:
                studio(browser, Path(folder))
            if "run" in wanted:
                run(browser, Path(folder))
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
