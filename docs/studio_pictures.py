"""The pictures of docs/studio.md, taken in Chromium of a studio at work in an empty folder:

    python docs/studio_pictures.py

A minute; it needs Debian's chromium and chromium-driver. A run is trained for them, so that its picture differs a
little each time.
"""

import base64
import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver

PLACE = Path(__file__).parent / "studio"
BROWSER, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
OPTIONS = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update"
WIDTH, HEIGHT = 1240, 800
LOOM = "return Boolean(globalThis.loom?.facts && document.querySelector('.score')?.textContent.includes('right'))"
TYPE = """
for (const [name, value] of Object.entries(arguments[0])) {
  const field = document.querySelector(`.form [name="${name}"], .form #${name}`);
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
"""
PRESS = "[...document.querySelectorAll('#screen button')].find((one) => one.textContent === arguments[0]).click()"
CLICK = """
const board = document.querySelector(".draw canvas"), { left, top } = board.getBoundingClientRect();
const cell = board.clientWidth / 8.26, at = (i) => 0.13 * cell + (i + 0.5) * cell;
for (const [x, y] of arguments[0]) {
  const place = { clientX: left + at(x), clientY: top + at(y), bubbles: true };
  for (const kind of ["pointerdown", "pointerup", "click"]) board.dispatchEvent(new PointerEvent(kind, place));
}
"""


class Studio:
    """A studio in a folder, and its page in a browser."""

    def __init__(self, folder: Path) -> None:
        words = [sys.executable, "-m", "handloom", "studio", "--no-open"]
        self.process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for option in OPTIONS.split():
            options.add_argument(option)
        self.browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))

    def open(self, fields: str, until: str = LOOM, height: int = HEIGHT) -> None:
        size = {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}&{fields}")
        self.wait(until)

    def wait(self, script: str) -> None:
        end = time.monotonic() + 300
        while not self.browser.execute_script(script):
            assert time.monotonic() < end, script
            time.sleep(0.1)

    def run(self, script: str, *given: Any) -> None:
        self.browser.execute_script(script, *given)

    def take(self, name: str) -> None:
        time.sleep(1.5)  # for what moves
        data = base64.b64decode(self.browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"])
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        small = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        small.save(PLACE / f"{name}.png", optimize=True)

    def close(self) -> None:
        self.browser.quit()
        self.process.terminate()
        self.process.wait(20)


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(Path(folder))
        try:
            studio.open("screen=home", "return document.querySelectorAll('.things li').length > 20")
            studio.take("home")
            studio.open("screen=text&model=hello")
            studio.take("text")
            studio.open("screen=lesson&lesson=addition")
            studio.take("lesson")
            studio.open("screen=compare&model=addition&beside=tiny-addition")
            studio.take("compare")
            studio.open(
                "screen=discover&problem=isosceles:n=8", "return Boolean(document.querySelector('.draw canvas'))"
            )
            studio.run(CLICK, [[1, 1], [5, 1], [3, 4], [6, 6]])
            studio.wait("return Boolean(document.querySelector('.offending li'))")
            studio.take("discover")
            studio.open("screen=learn", "return Boolean(document.querySelector('.form button'))", 1000)
            studio.run(TYPE, {"task": "s[3]==s[7]", "steps": 800, "every": 100, "keep": 200})
            studio.run(PRESS, "Start")
            studio.wait(
                "return document.querySelectorAll('.strings li').length && document.querySelector('.state.done')"
            )
            studio.take("learn")
        finally:
            studio.close()


if __name__ == "__main__":
    main()
