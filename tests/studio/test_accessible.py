"""What axe-core finds in every screen of the studio and in pages, light and dark: nothing serious. And what the screens
ask for: nothing of another machine."""

import pytest

import handloom as hl
from handloom.read import explain
from handloom.view.pages.show import explanation_page
from live_pages import CERTIFICATE, live_page
from page_engine import WEB
from studio_browser import browser, page, studio

__all__ = ["browser", "page", "studio"]  # fixtures

AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
CHECK = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  done(violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join(" "))])));
"""
COMPUTED = "return Boolean(globalThis.loom?.facts)"
SCREENS = {
    "home": "return document.querySelectorAll('.things li').length > 20",
    "lesson": "return document.querySelectorAll('.card').length > 4",
    "lesson&lesson=hello": COMPUTED,
    "run&model=search": COMPUTED,
    "text&model=hello": COMPUTED,
    "learn": "return Boolean(document.querySelector('.form button'))",
    "discover&problem=isosceles:n=8": "return Boolean(document.querySelector('.draw canvas'))",
    "read&model=search": "return Boolean(document.querySelector('.reading svg'))",
    "compare&model=addition&beside=tiny-addition": "return Boolean(globalThis.looms?.every((desk) => desk.facts))",
}


@pytest.fixture
def found(browser):
    """What axe finds in what the browser shows, in light and in dark colours."""
    if not AXE.exists():
        pytest.skip("NO web/node_modules: nothing has checked that pages are accessible; `make web-tools` has it")

    def check():
        browser.execute_script(AXE.read_text())
        browser.set_script_timeout(120)
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            yield from browser.execute_async_script(CHECK)

    yield check
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def on_a_phone(page):
    """At a width of 390 pixels nothing is scrolled sideways."""
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        wide = "[document.documentElement, document.querySelector('#screen')].map((one) => one.scrollWidth)"
        assert max(page.run(f"return {wide}")) <= 390
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_has_no_serious_finding_and_asks_this_machine_only(page, found, screen):
    page.load(f"screen={screen}")
    page.until(SCREENS[screen])
    assert [*found()] == []
    on_a_phone(page)
    asked = page.run("return performance.getEntriesByType('resource').map(({ name }) => name)")
    own = (page.address.partition("#")[0], "blob:", "data:")
    assert [name for name in asked if not name.startswith(own)] == []


PAGES = {
    "live": lambda: live_page(hl.program("addition"), "865+230=", CERTIFICATE),
    "article": lambda: explanation_page(explain("min:n=5", hl.program("min:n=5"))),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_finding(browser, found, tmp_path, name):
    file = tmp_path / "page.html"
    file.write_text(PAGES[name]())
    browser.get(file.as_uri())
    assert [*found()] == []
