"""Stories of Home, the lessons and Read, each what a user does and sees in Chromium."""

import pytest

from handloom.studio.lessons.exported import lesson_page
from studio_browser import browser, page, studio

__all__ = ["browser", "page", "studio"]

pytestmark = pytest.mark.usefixtures("page")
KEYS = {"Tab": "\ue004", "Enter": "\ue007"}
MOST_TABS = 80


def click_link(page, words):
    page.until(
        "const a = [...document.querySelectorAll('.sets')].find((one) => one.textContent.includes(arguments[0]));"
        "a?.click(); return Boolean(a)",
        words,
    )


def tab_to(page, words):
    """Press Tab until what has the focus says these words."""
    for _ in range(MOST_TABS):
        page.browser.switch_to.active_element.send_keys(KEYS["Tab"])
        if words in page.run("return document.activeElement.textContent"):
            return
    raise AssertionError(f"no Tab leads to {words}")


def press(page, key):
    page.browser.switch_to.active_element.send_keys(KEYS.get(key, key))


def test_in_the_addition_lesson_a_link_drags_w_v_and_the_sum_stays_right_and_the_next_link_takes_it_back(page):
    page.load("screen=lesson&lesson=addition")
    page.until_text(".score", "200 of 200 right")
    page.until_text(".badge", "right on all 1,000,000 inputs")
    click_link(page, "3.7 times")
    page.until_text(".score", "110 of 200 right")
    assert page.text(".answer") == "1095"
    page.until("return document.querySelector('.badge').classList.contains('void')")
    click_link(page, "Take it back")
    page.until_text(".score", "200 of 200 right")
    page.until("return !document.querySelector('.badge').classList.contains('void')")
    click_link(page, "0.8 times")
    page.until_text(".score", "196 of 200 right")
    assert page.text(".answer") == "0095"


def test_a_link_to_another_model_changes_the_loom_and_links_work_in_any_order(page):
    page.load("screen=lesson&lesson=rule")
    page.until_text(".lesson-loom h1", "learned/rule-100")
    click_link(page, "With a 0 there")
    page.until_text(".lesson-loom h1", "learned/rule-500")
    page.until("return document.querySelector('.answer').textContent.startsWith('0')")
    assert page.run("return document.querySelector('.sets[aria-current]').textContent").startswith("With a 0 there")


def test_a_lesson_in_one_page_works_from_a_file(page, tmp_path):
    path = lesson_page("addition").save(tmp_path / "addition.html")
    page.browser.get(path.as_uri())
    page.until_text(".score", "200 of 200 right")
    assert page.run("return location.protocol") == "file:"
    assert "right on all 1,000,000 inputs" in page.text(".badge")
    click_link(page, "3.7 times")
    page.until_text(".score", "110 of 200 right")
    press(page, "z")
    page.until_text(".score", "200 of 200 right")


def test_typing_ind_at_home_leaves_what_has_to_do_with_induction(page):
    page.load("screen=home")
    page.until("return document.querySelectorAll('.card').length === 5")
    page.run("const f = document.querySelector('.find'); f.value = 'ind'; f.dispatchEvent(new Event('input'))")
    seen = page.run(
        "return [...document.querySelectorAll('[data-text]')].filter((a) => a.offsetParent).map((a) => a.dataset.text)"
    )
    assert any(one.startswith("compiled/induction") for one in seen)
    assert any("Search and induction" in one for one in seen)
    assert all("ind" in one.lower() for one in seen)
    assert not any(one.startswith("addition") for one in seen)
    page.run("const f = document.querySelector('.find'); f.value = 'qqq'; f.dispatchEvent(new Event('input'))")
    page.until_text(".none", "Nothing here is called qqq")


def test_the_circuit_of_search_has_its_edges_and_a_click_on_a_head_opens_it_in_run(page):
    page.load("screen=read&model=search&reading=circuit")
    page.until_text(".found", "16 real of 42 edges")
    lines = page.run("return [...document.querySelectorAll('.found svg line')].map((one) => one.textContent)")
    assert len(lines) >= 16
    assert page.run("return document.querySelectorAll('.found tbody tr').length") == 42
    page.run(
        "[...document.querySelectorAll('.found svg a')].find((a) => a.textContent === '1.0')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))"
    )
    page.until("return globalThis.loom?.facts && location.hash.includes('screen=run')")
    page.until("return document.querySelector('.panel h2').textContent.includes('1 · attention')")


def test_a_column_is_sorted_by_a_click_and_numbers_stand_at_the_right(page):
    page.load("screen=read&model=search&reading=heads")
    page.until("return document.querySelectorAll('.found tbody tr').length === 4")
    page.run("document.querySelectorAll('.sortable th button')[1].click()")
    names = page.run(
        "return [...document.querySelectorAll('.found tbody tr td:nth-child(2)')].map((td) => td.textContent)"
    )
    assert names == sorted(names)
    assert page.run("return getComputedStyle(document.querySelector('.sortable td.number')).textAlign") == "right"


def test_a_reading_that_is_impossible_says_so_in_one_line_and_the_next_one_is_made(page):
    page.load("screen=read&model=search&reading=film")
    said = page.until_text(".reading .error", "film strip")
    assert "\n" not in said
    page.run("location.hash = location.hash.replace('film', 'lens')")
    page.until("return document.querySelector('.found svg')")


def test_by_keyboard_only_from_home_to_a_lesson_and_back_by_undo(page):
    page.load("screen=home")
    page.until("return document.querySelectorAll('.card').length === 5")
    tab_to(page, "Addition, and why proofs matter")
    press(page, "Enter")
    page.until_text(".score", "200 of 200 right")
    page.run("document.querySelector('.lesson-text').focus()")
    tab_to(page, "3.7 times")
    press(page, "Enter")
    page.until_text(".score", "110 of 200 right")
    press(page, "z")
    page.until_text(".score", "200 of 200 right")
    press(page, "Z")
    page.until_text(".score", "110 of 200 right")


def test_the_picture_of_heads_shows_their_names_and_no_black_boxes(page):
    page.load("screen=read&model=search&reading=heads")
    page.until("return Boolean(document.querySelector('.found svg rect'))")
    fills = page.run("return [...document.querySelectorAll('.found svg .frame')].map((e) => getComputedStyle(e).fill)")
    assert set(fills) == {"none"}
    assert "induction 3" in page.text(".found svg")


def test_numbers_of_a_column_have_equally_many_digits_and_rounding_is_next_to_nothing(page):
    page.load("screen=read&model=search&reading=attribution")
    page.until("return document.querySelectorAll('.found tbody tr').length > 3")
    shown = page.run("return [...document.querySelectorAll('.found td.number')].map((e) => e.textContent)")
    assert "1.985" in shown
    assert not any("e-1" in one or "e−1" in one for one in shown)


@pytest.mark.parametrize(
    "fields", ["screen=home", "screen=lesson&lesson=search", "screen=read&model=search&reading=heads"]
)
def test_on_a_phone_nothing_sticks_out(page, fields):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.load(fields)
        page.until("return document.querySelector('.card img, .score, .found svg, .found table')")
        assert page.run("return document.documentElement.scrollWidth") <= 390
        assert page.run("return document.querySelector('#screen').scrollWidth") <= 390
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
