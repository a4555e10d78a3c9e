"""Stories of pages that are articles, and of two looms side by side, in Chromium."""

import json
from functools import cache
from pathlib import Path

import pytest

import handloom as hl
from browser_page import Page
from discoveries import metrics
from handloom.core import load
from handloom.discover import Problem, grid
from handloom.read import explain
from handloom.read.close_look import close_look
from handloom.read.overview import overview
from handloom.view.pages import live
from handloom.view.pages.discovery import as_page
from handloom.view.pages.reading import overview_page
from handloom.view.pages.show import explanation_page
from handloom.view.pages.tour import Shown, tour_page
from handloom.view.pages.tour_stops import STOPS
from live_pages import CERTIFICATE, loom

LEARNED = Path(__file__).parents[2] / "docs" / "read" / "models" / "induction-1.safetensors"
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}


@cache
def tour():
    stop = next(stop for stop in STOPS if stop.title == "Attention, programmed")
    return tour_page([Shown(stop, "4", loom=stop.loom({"search": hl.program("search")}))])


@cache
def beside():
    """A compiled program and a model that learned its task."""
    learned = load(LEARNED)
    written = hl.program(learned.notes["task"])
    return live.live_page(loom(written, "abcab", CERTIFICATE, name="written"), loom(learned, "abcab", name="learned"))


@cache
def read():
    return overview_page(overview(str(LEARNED), pairs=8), close_look(str(LEARNED), pairs=8))


@cache
def show():
    return explanation_page(explain("min:n=5", hl.program("min:n=5")))


@cache
def discovery():
    problem = Problem(grid(3, 3), forbidden=lambda a, b: a[0] == b[0], name="mine", best_known=10)
    return as_page({"problem": "mine"}, [*metrics(4)], problem, [])


PAGES = {"tour": tour, "beside": beside, "read": read, "show": show, "discovery": discovery}


def both(page, script):
    """What a script says of each desk."""
    return page.run(f"return looms.map((desk) => {script})")


def test_the_tour_opens_with_addition_computing_and_taking_out_head_2_0_outputs_1106(opened):
    page = opened(tour())
    page.answers("1095")
    assert "right on all 1,000,000 inputs" in page.text(".badge")
    page.run("document.querySelector('.loom-figure .loom').focus()")
    page.run("loom.select({stage: 5, part: 0})")
    page.press("a")
    page.answers("1106")
    page.until("return document.querySelector('.badge').classList.contains('void')")


def test_a_figure_of_an_article_takes_keys_only_inside_and_leaves_the_address_alone(opened):
    page = opened(tour())
    page.answers("1095")
    page.run("document.activeElement.blur(); loom.select({stage: 5, part: 0})")
    page.press("a", "z", "?")
    assert page.run("return [loom.state.edits.length, document.querySelector('dialog').open]") == [0, False]
    page.type("199+801=")
    page.answers("1000")
    assert page.run("return location.hash") == ""


def test_a_figure_further_down_computes_when_it_comes_near(opened):
    page = opened(tour())
    page.run("document.querySelectorAll('.loom-figure')[1].scrollIntoView()")
    page.until("return globalThis.looms.length === 2 && Boolean(looms[1].facts)")
    assert page.run("return looms[1].decode(looms[1].solution.answer)") == "4"


def test_two_looms_side_by_side_take_one_input_and_both_answer(opened):
    page = opened(beside())
    page.until("return looms.every((desk) => desk.facts)")
    assert both(page, "desk.decode(desk.solution.answer)") == ["c", "c"]
    page.type("cdacd")
    page.until("return looms.every((desk) => desk.state.text === 'cdacd' && desk.solution.prompt.length === 6)")
    assert both(page, "desk.decode(desk.solution.answer)") == ["a", "a"]
    page.run(
        "const second = document.querySelectorAll('.input')[1]; second.value = 'eafea';"
        "second.dispatchEvent(new Event('input'))"
    )
    page.until("return document.querySelectorAll('.answer')[0].textContent === 'f'")
    assert page.run("return document.querySelectorAll('.input')[0].value") == "eafea"


def test_both_take_the_same_exam_and_an_edit_of_one_leaves_the_other_right(opened):
    page = opened(beside())
    page.until(
        "return [...document.querySelectorAll('.score')].every((score) => score.textContent.includes('200 right'))"
    )
    assert page.run("return JSON.stringify(looms[0].page.exam) === JSON.stringify(looms[1].page.exam)")
    page.run("looms[0].select({stage: looms[0].study.stages.length - 1, part: 0})")
    page.press("a")
    page.until("return document.querySelectorAll('.half')[0].querySelectorAll('.wrong').length > 20")
    assert both(page, "desk.state.edits.length") == [1, 0]


def test_what_is_selected_and_pointed_at_on_one_side_is_so_on_the_other_where_it_exists(opened):
    page = opened(beside())
    page.until("return looms.every((desk) => desk.facts)")
    page.run("looms[1].select({position: 2})")
    assert both(page, "desk.state.position") == [2, 2]
    attention = "desk.study.stages.findIndex(({kind, layer}) => kind === 'attention' && layer === 0)"
    page.run(f"const desk = looms[0]; desk.select({{stage: {attention}}})")
    assert all(both(page, f"desk.state.stage === {attention}"))
    page.run("looms[0].hover({layer: 1, head: 0, position: 3})")
    assert both(page, "[desk.hovered.layer, desk.hovered.head, desk.hovered.position]") == [[1, 0, 3]] * 2
    page.run("looms[1].hover({layer: 1, head: 1, position: 3})")
    heads = both(page, "desk.config.heads")
    assert heads == [1, 2]
    assert both(page, "desk.hovered.head") == [-1, 1], "the written one has no second head"
    page.run("looms[1].hover(null)")
    assert both(page, "desk.hovered") == [None, None]


def test_keys_pressed_in_the_second_loom_act_there_alone(opened):
    page = opened(beside())
    page.until("return looms.every((desk) => desk.facts)")
    page.run(
        "document.querySelectorAll('.loom')[1].focus(); looms[1].select({stage: looms[1].study.stages.length - 1})"
    )
    page.press("a")
    assert both(page, "desk.state.edits.length") == [0, 1]


def test_a_link_brings_back_both_looms_with_their_edits(opened):
    page = opened(
        beside(), "#in=cdacd&at=1,0,0&edits=0.z[0]=0&beside=in%3Dcdacd%26at%3D1%2C0%2C0%26edits%3D1.z%5B1%5D%3D0"
    )
    page.until("return looms.every((desk) => desk.facts)")
    assert both(page, "[desk.state.text, desk.state.position, desk.state.edits.map(({what}) => what).join()]") == [
        ["cdacd", 1, "0.z"],
        ["cdacd", 1, "1.z"],
    ]
    page.run("looms[1].select({edits: []})")
    page.until("return location.hash.includes('edits') && !decodeURIComponent(location.hash).includes('1.z')")


def loaded(browser, folder, text):
    """A page without waiting for a loom, which it may not have."""
    path = folder / "article.html"
    path.write_text(text)
    browser.get_log("browser")
    browser.get("about:blank")
    browser.get(path.as_uri())
    return Page(browser)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_the_network_for_nothing_and_has_no_errors(browser, folder, name):
    page = loaded(browser, folder, PAGES[name]())
    if name != "discovery":
        page.until("return Boolean(globalThis.looms?.[0]?.facts)")
        page.until("return document.querySelector('.desk > header').dataset.check !== undefined")
    asked = page.run("return performance.getEntriesByType('resource').map(({name}) => name)")
    assert [name for name in asked if not name.startswith(("blob:", "data:"))] == []
    assert page.errors() == []


@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_a_page_does_not_scroll_sideways(browser, folder, name):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        page = loaded(browser, folder, PAGES[name]())
        if name != "discovery":
            page.until("return Boolean(globalThis.looms?.[0]?.facts)")
        assert page.run("return document.documentElement.scrollWidth") <= 390
        wide = (
            "[...document.querySelectorAll('.loom-figure, .half, .card')].map((e) => e.getBoundingClientRect().right)"
        )
        assert max(page.run(f"return {wide}"), default=0) <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def lightness(page):
    """Of the paper and of the ink, from 0 to 255."""
    found = page.run(
        "const {backgroundColor, color} = getComputedStyle(document.body); return [backgroundColor, color]"
    )
    return [sum(map(int, one[4:-1].split(", "))) / 3 for one in found]


@pytest.mark.parametrize("name", PAGES)
def test_dark_is_dark_and_light_is_light(browser, folder, name):
    page = loaded(browser, folder, PAGES[name]())
    try:
        for mode, (paper, ink) in {"light": (255, 34), "dark": (24, 232)}.items():
            feature = {"name": "prefers-color-scheme", "value": mode}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            assert lightness(page) == pytest.approx([paper, ink], abs=1), json.dumps([name, mode])
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
