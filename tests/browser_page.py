"""A page in a browser, and what a user does there."""

import json
import time

WAIT = 60.0  # seconds, on a busy machine


class Page:
    """A page in the browser, and what a user does there."""

    def __init__(self, browser):
        self.browser = browser

    def load(self, path, hash=""):
        self.browser.get("about:blank")
        self.browser.get(path.as_uri() + hash)
        self.until("return Boolean(globalThis.loom && loom.facts && document.querySelector('.answer').textContent)")

    def begin_again(self):
        """As if it were loaded again, which takes longer."""
        self.run(
            "document.querySelector('dialog').close(); document.activeElement.blur();"
            "for (const desk of looms) desk.update({...desk.state, text: desk.page.on, position: -1, stage: -1,"
            " part: 0, view: 'auto', edits: [], past: [], future: []})"
        )
        self.until("return document.querySelector('.score').textContent.match(/^(\\d+) of \\1 right/)")

    def run(self, script, *given):
        return self.browser.execute_script(script, *given)

    def until(self, script):
        end = time.monotonic() + WAIT
        while not self.run(script):
            assert time.monotonic() < end, f"never: {script}; {self.errors()}"
            time.sleep(0.02)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def press(self, *keys):
        for key in keys:
            self.run(
                "const down = new KeyboardEvent('keydown', {key: arguments[0], bubbles: true, cancelable: true});"
                "document.activeElement.dispatchEvent(down)",
                key,
            )

    def type(self, text):
        self.run(
            "const i = document.querySelector('.input'); i.focus(); i.value = arguments[0];"
            "i.dispatchEvent(new Event('input')); i.blur()",
            text,
        )

    def answers(self, text):
        self.until(f"return document.querySelector('.answer').textContent === {json.dumps(text)}")

    def errors(self):
        return [one["message"] for one in self.browser.get_log("browser") if one["level"] in ("SEVERE", "WARNING")]
