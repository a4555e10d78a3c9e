"""Chromium for the stories of pages. Without it they are skipped, and say so."""

import shutil

import pytest

from browser_page import Page

BROWSER, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --allow-file-access-from-files"
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One Chromium for all stories."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="NO selenium: nobody has used the live page")
    if not (shutil.which(BROWSER) and shutil.which(DRIVER)):
        pytest.skip("NO Chromium with its driver: nobody has used the live page")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in (*OPTIONS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_window_size(1300, 900)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def opened(browser, folder):
    """Open a page from a file; whatever is done there must leave no error in the console."""

    def open_page(text, hash=""):
        path = folder / "page.html"
        page, is_there = Page(browser), path.exists() and path.read_text() == text and not hash
        path.write_text(text)
        browser.get_log("browser")
        if is_there:
            page.begin_again()
        else:
            page.load(path, hash)
        return page

    yield open_page
    assert [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
