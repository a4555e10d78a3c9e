"""The studio in Chromium, for stories of what its user does and sees: one browser and one studio per module."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import handloom

BROWSER, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
WAIT = 60.0  # seconds, on a busy machine


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One Chromium for all stories."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="NO selenium: nobody has used the studio")
    if not (shutil.which(BROWSER) and shutil.which(DRIVER)):
        pytest.skip("NO Chromium with its driver: nobody has used the studio")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in (*OPTIONS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_window_size(1300, 900)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A studio in an empty folder, as `handloom studio` starts it: its address and its folder."""
    folder = tmp_path_factory.mktemp("studio")
    path = str(Path(handloom.__file__).parent.parent)
    command = [sys.executable, "-m", "handloom", "studio", "--no-open"]
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    yield process.stdout.readline().strip(), folder
    process.terminate()
    process.wait(20)
    process.stdout.close()


@pytest.fixture
def page(browser, studio):
    """The studio's page; whatever is done there must leave no error in the console."""
    address, folder = studio
    page = StudioPage(browser, address, folder)
    browser.get_log("browser")
    yield page
    assert [one for one in page.errors() if "favicon" not in one and "400 (Bad Request)" not in one] == []


class StudioPage:
    """The page in the browser, and what a user does there."""

    def __init__(self, browser, address, folder):
        self.browser, self.address, self.folder = browser, address, folder

    def load(self, fields):
        """Open an address anew, as in another tab."""
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}&{fields}")
        self.until("return Boolean(document.querySelector('#screen').children.length)")

    def run(self, script, *given):
        return self.browser.execute_script(script, *given)

    def until(self, script, *given):
        end = time.monotonic() + WAIT
        while not (found := self.run(script, *given)):
            assert time.monotonic() < end, f"never: {script}; {self.errors()}; {self.text('body')[:800]}"
            time.sleep(0.03)
        return found

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def until_text(self, selector, words):
        """Wait until an element says these words, and return all it says."""
        seen = f"document.querySelector({json.dumps(selector)})?.textContent"
        return self.until(f"return ({seen} ?? '').includes(arguments[0]) && {seen}", words)

    def fill(self, **values):
        """Type into the fields of a form, each by its name or id."""
        for name, value in values.items():
            self.run(
                'const f = document.querySelector(`.form [name="${arguments[0]}"], .form #${arguments[0]}`);'
                "f.value = arguments[1]; f.dispatchEvent(new Event('input', {bubbles: true}));"
                "f.dispatchEvent(new Event('change', {bubbles: true}))",
                name,
                str(value),
            )

    def press(self, words):
        """Click the button that says this."""
        self.until(
            "const b = [...document.querySelectorAll('#screen button')].find((one) => one.textContent === arguments[0]"
            " && one.offsetParent && !one.disabled); b?.click(); return Boolean(b)",
            words,
        )

    def errors(self):
        return [one["message"] for one in self.browser.get_log("browser") if one["level"] == "SEVERE"]
