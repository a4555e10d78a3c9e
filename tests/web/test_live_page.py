"""Stories of the live page, each what a user does and sees, in Chromium; and the loom's parts that need no browser."""

import json
from functools import cache

import numpy as np
import pytest

import handloom as hl
from handloom.core import Config, Model, Vocab, params, reference
from live_pages import CERTIFICATE, live_page
from page_engine import node

HOSTILE = '</script><img/src=x/onerror="document.title=1">'


@cache
def addition():
    return live_page(hl.program("addition"), on="865+230=", certificate=CERTIFICATE)


def badge(page):
    return page.run("return document.querySelector('.badge').className.split(' ').at(-1)")


def test_taking_out_head_2_0_of_addition_outputs_1106_and_the_badge_turns_void_and_undo_brings_it_back(opened):
    page = opened(addition())
    page.answers("1095")
    assert badge(page) == "good"
    assert str(CERTIFICATE) in page.text(".badge")
    page.run("loom.select({stage: 5, part: 0})")
    page.press("a")
    page.answers("1106")
    page.until("return document.querySelector('.badge').className.includes('void')")
    page.press("z")
    page.answers("1095")
    page.until("return document.querySelector('.badge').className.includes('good')")
    page.press("Z")
    page.answers("1106")


def test_the_exam_says_how_much_an_edit_costs_and_a_click_loads_an_input_that_is_wrong(opened):
    page = opened(addition())
    page.until("return document.querySelector('.score').textContent.includes('right')")
    total = page.run("return loom.page.exam.length")
    assert page.text(".score") == f"{total} of {total} right"
    page.run("loom.select({stage: 5, part: 0})")
    page.press("a")
    page.until("return document.querySelectorAll('.cells .wrong').length > 100")
    page.run("document.querySelector('.cells .wrong').click()")
    page.until("return document.querySelector('.answer').classList.contains('wrong')")


def test_a_weight_is_dragged_by_typing_and_by_arrow_keys_and_one_undo_takes_each_back(opened):
    page = opened(addition())
    page.run("loom.select({stage: 5, part: 0})")
    cell = "document.querySelector('[aria-label=\"layers.2.W_V, place, 0\"]')"
    page.until(f"return Boolean({cell})")
    before = page.run(f"return {cell}.title")
    page.run(f"const c = {cell}; c.focus(); c.value = '8000'; c.dispatchEvent(new Event('change')); c.blur()")
    page.until(f"return {cell}.classList.contains('changed')")
    assert page.run("return loom.state.edits[0].value") == 8000
    page.run(f"{cell}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowUp'}}))")
    assert page.run("return loom.state.edits[0].value") == 8080
    page.press("z", "z")
    page.until(f"return {cell}.title === {json.dumps(before)}")


def test_what_each_part_added_sums_to_the_logit_that_the_reference_has(opened):
    model = hl.program("addition")
    ids = model.vocab.encode("865+230=")
    logit = reference.forward(model, ids)[0][-1].max()
    page = opened(addition())
    page.until("return document.querySelector('.sum b').title !== ''")
    found = [float(page.run(f"return document.querySelector('.{row} b').title")) for row in ("sum", "logit")]
    assert np.allclose(found, float(logit), rtol=1e-9)


def test_an_input_that_the_model_cannot_read_gives_one_line_and_the_last_picture_stays(opened):
    page = opened(addition())
    page.type("865x230=")
    page.until("return document.querySelector('.error').textContent.includes('not in the vocabulary')")
    assert page.text(".answer") == "1095"
    page.type("865+231=")
    page.answers("1096")
    assert page.run("return document.querySelector('.error').hidden")


def test_the_page_is_used_by_keyboard_only(opened):
    page = opened(addition())
    page.press("ArrowRight", "ArrowUp")
    page.until("return loom.state.position === 8 && loom.state.stage === 6")
    page.until("return document.querySelector('.panel [role=status]').textContent.startsWith('Position 8 reads 1')")
    page.press("/")
    assert page.run("return document.activeElement.className") == "input"
    page.run("document.activeElement.blur()")
    page.press("e")
    assert page.run("return Boolean(document.activeElement.closest('.cells'))")
    page.run("document.activeElement.blur()")
    page.press("?")
    assert page.run("return document.querySelector('dialog').open")


def test_the_saved_svg_shows_what_the_figure_shows_and_is_xml(opened):
    page = opened(addition())
    page.run(
        "URL.createObjectURL = (file) => { file.text().then((text) => (globalThis.saved = text)); return '#' };"
        "document.querySelector('[title*=\"as SVG\"]').click()"
    )
    page.until("return Boolean(globalThis.saved)")
    found = page.run("return new DOMParser().parseFromString(saved, 'image/svg+xml').documentElement.textContent")
    assert "predicts next" in found
    assert "square" in found


def test_dark_colours_are_drawn_on_a_dark_screen(opened, browser):
    page = opened(addition())
    paper = page.run("return loom.colours.named.paper")
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    page.until(f"return loom.colours.named.paper !== {json.dumps(paper)}")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_page_from_a_file_is_alive_and_a_link_brings_back_input_and_edits(opened):
    page = opened(addition(), "#in=199%2B801%3D&at=7,5,0&edits=2.z[0]=0")
    assert page.run("return location.protocol") == "file:"
    page.until("return document.querySelector('.badge').className.includes('void')")
    page.press("z")
    page.run("loom.update({...loom.state, edits: []})")
    page.answers("1000")
    page.type("045+978=")
    page.answers("1023")
    page.until("return decodeURIComponent(location.hash).startsWith('#in=045+978=')")


def test_a_model_full_of_markup_is_shown_as_text(opened):
    config = Config(vocab=3, block=4, d_model=4, layers=1, heads=1, d_head=2, d_ff=2)
    vocab = Vocab((HOSTILE, "b", "c"), separator=" ")
    vectors = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    notes = {
        "heads": {"0.0": HOSTILE},
        "mlps": {"0": HOSTILE},
        "directions": {HOSTILE: 2},
        "readings": {HOSTILE: {"vectors": vectors, "scale": 1.0, "kind": "token", "values": [HOSTILE] * 3}},
    }
    page = opened(live_page(Model(config, params.zeros(config), vocab, notes), on="b c", name=HOSTILE))
    assert page.text("h1") == HOSTILE
    assert HOSTILE in page.text(".panel")
    assert page.run("return [document.images.length, document.title === '1']") == [0, False]


@pytest.mark.parametrize(("program", "on"), [("addition", "865+230="), ("search", "1 2 3 4 1 2 3")])
def test_on_a_phone_nothing_sticks_out(opened, browser, program, on):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page = opened(live_page(hl.program(program), on=on))
        assert page.run("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_parts_that_need_no_browser():
    node("--test", "tests/loom.test.mjs", "tests/beside.test.mjs")
