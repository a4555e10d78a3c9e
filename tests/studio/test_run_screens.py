"""Stories of Run, Text and Compare, in Chromium: what a user does with a model there, and sees."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from shutil import copy

import handloom as hl
from handloom.core import Config, Model, Vocab, params
from handloom.write.taotp import load_taotp, read_taotp
from studio_browser import browser, page, studio

__all__ = ["browser", "page", "studio"]  # fixtures

ROOT = Path(__file__).parents[2]
HOSTILE = '</script><img src=x onerror="document.title=1">'
READY = "return Boolean(globalThis.loom?.facts && document.querySelector('.answer')?.textContent)"


def opened(page, screen, model, **more):
    page.load("&".join(f"{name}={value}" for name, value in {"screen": screen, "model": model, **more}.items()))
    page.until(READY)


def answers(page, text):
    page.until("return document.querySelector('.answer').textContent === arguments[0]", text)


def badge(page):
    return page.run("return document.querySelector('.badge').className.split(' ').at(-1)")


def write(page, old, new):
    """Change something in the text, as by typing."""
    page.run(
        "const e = document.querySelector('.sheet textarea'); e.value = e.value.replace(arguments[0], arguments[1]);"
        "e.dispatchEvent(new Event('input'))",
        old,
        new,
    )


def keep(page, words):
    """Choose something in the menu Keep."""
    page.until(
        "const b = [...document.querySelectorAll('.menu button')].find((b) => b.textContent.includes(arguments[0]));"
        "b?.click(); return Boolean(b)",
        words,
    )


def press(page, words):
    """Click a button of the dialog."""
    page.until(
        "const b = [...document.querySelectorAll('dialog[open] button')].find((b) => b.textContent === arguments[0]);"
        "b?.click(); return Boolean(b)",
        words,
    )


def test_certify_addition_puts_the_certificate_in_the_badge_where_an_edit_voids_it_and_it_is_there_again_later(page):
    opened(page, "run", "addition:digits=2")
    page.press("certify")
    page.until_text(".badge", "right on all 10,000 inputs (exhaustive)")
    assert badge(page) == "good"
    page.run("loom.edit({what: 'layers.1.W_V', at: [0, 2, 0], value: 1})")
    page.until("return document.querySelector('.badge').className.includes('void')")
    page.run("document.querySelector('[aria-label^=undo]').click()")
    page.until("return document.querySelector('.badge').className.includes('good')")
    opened(page, "run", "addition:digits=2")
    page.until_text(".badge", "right on all 10,000 inputs")


def test_a_compiled_program_is_proven_and_shows_its_source_beside_its_loom(page):
    opened(page, "run", "compiled/reverse:n=3")
    page.press("certify")
    page.until_text(".badge", "(proof")
    opened(page, "text", "compiled/reverse:n=3")
    page.until("return document.querySelectorAll('.text-tools [role=tab]').length === 2")
    seen = "[...document.querySelectorAll('.sheet textarea')].find((one) => one.offsetParent)"
    assert "def reverse" in page.run(f"return {seen}.value")
    assert page.run(f"return {seen}.readOnly")
    page.press(".taotp")
    assert "tok_emb" in page.run(f"return {seen}.value")


def test_taking_head_2_0_of_addition_out_says_1106_and_python_says_the_same_and_so_does_the_saved_file(page):
    opened(page, "run", "addition", **{"in": "865%2B230%3D"})
    answers(page, "1095")
    page.run("loom.select({stage: 5, part: 0})")
    page.press("take head 2.0 out")
    answers(page, "1106")
    keep(page, "as Python")
    lines, said = page.text("dialog .code"), io.StringIO()
    press(page, "close")
    with redirect_stdout(said):
        exec(lines, {})
    assert said.getvalue().strip() == "1106"
    keep(page, ".safetensors")
    page.run("const i = document.querySelector('dialog input'); i.value = 'without.safetensors'")
    press(page, "save")
    page.until_text(".notice", "saved: without.safetensors")
    assert hl.load(str(page.folder / "without.safetensors"))("865+230=") == "1106"


def test_a_saved_page_opens_from_a_file_in_the_same_state(page, tmp_path):
    opened(page, "run", "addition", **{"in": "865%2B230%3D", "edits": "2.z[0]=0"})
    answers(page, "1106")
    page.run("URL.createObjectURL = (file) => { file.text().then((text) => (globalThis.saved = text)); return '#x' }")
    keep(page, "live page")
    html = page.until("return globalThis.saved")
    (tmp_path / "page.html").write_text(html)
    page.browser.get((tmp_path / "page.html").as_uri())
    page.until(READY)
    answers(page, "1106")
    page.until_text(".was", "was 1095")


def test_dragging_w_v_of_addition_voids_nothing_in_the_text_until_the_edit_is_written_into_it(page):
    opened(page, "text", "addition", **{"in": "865%2B230%3D"})
    page.run("loom.select({stage: 5, part: 0}); loom.edit({what: 'layers.2.W_V', at: [0, 2, 0], value: 1750})")
    page.until_text(".taken .lines", "'V': ")
    before = page.text(".answer")
    page.press("write the edits into the text")
    page.until(
        "return loom.state.edits.length === 0 && document.querySelector('.sheet textarea').value.includes('1750')"
    )
    answers(page, before)
    page.press("as it was")
    answers(page, "1095")
    assert "1750" not in page.run("return document.querySelector('.sheet textarea').value")


def test_a_typo_in_the_text_is_marked_at_its_line_and_the_last_good_model_stays(page):
    opened(page, "text", "hello")
    answers(page, "Hello World!")
    write(page, "'tok_emb': circle(11)", "'tok_emb': circl(11)")
    page.until_text(".complaint", "line 6: there is no function 'circl'")
    assert page.run("return document.querySelector('.mark').style.transform.includes('5 *')")
    assert page.text(".answer") == "Hello World!"
    write(page, "circl(11)", "circle(11)")
    page.until("return document.querySelector('.complaint').hidden")


def test_changing_one_row_of_pos_emb_of_hello_in_the_text_changes_what_it_outputs_at_once(page):
    opened(page, "text", "hello")
    write(page, "[1, 2, 3, 3,", "[7, 2, 3, 3,")
    answers(page, page_answer(page))
    assert page.text(".answer") != "Hello World!"
    page.press("as it was")
    answers(page, "Hello World!")


def page_answer(page):
    """What the text as it is outputs, by the reference."""
    return read_taotp(page.run("return document.querySelector('.sheet textarea').value"))("")


def test_save_never_overwrites(page):
    mine = page.folder / "mine.taotp"
    mine.write_text("mine")
    opened(page, "text", "hello")
    page.press("save …")
    for name, refusal in (("mine.taotp", "there is such a file"), ("../mine.taotp", "is not below the folder")):
        page.run("document.querySelector('dialog input').value = arguments[0]", name)
        press(page, "save")
        page.until_text("dialog .error", refusal)
    assert mine.read_text() == "mine"
    page.run("document.querySelector('dialog input').value = 'hello-2.taotp'")
    press(page, "save")
    page.until("return location.hash.includes('model=hello-2.taotp')")
    assert load_taotp(page.folder / "hello-2.taotp")() == "Hello World!"
    mine.unlink()


def test_search_beside_a_learned_induction_model_answer_one_input_and_are_told_apart(page):
    copy(ROOT / "docs" / "lab" / "induction-model.safetensors", page.folder / "learned.safetensors")
    page.load("screen=compare&model=search&beside=learned.safetensors")
    page.until("return globalThis.looms?.length === 2 && looms.every((one) => one.facts)")
    page.run("looms[1].select({text: '1 2 3 4 1 2 3', position: -1})")
    page.until("return looms[0].state.text === '1 2 3 4 1 2 3'")
    page.until("return [...document.querySelectorAll('.answer')].every((one) => one.textContent === '4')")
    page.until("return document.querySelector('.differences').dataset.done")
    rows = page.run("return [...document.querySelectorAll('.differences tr')].map((one) => one.textContent)")
    assert any(row.startswith("layers22") for row in rows)
    page.run("document.querySelector('.differences tr[tabindex]').click()")


def test_what_tells_two_models_of_long_names_apart_is_read_without_a_sideways_scroll(page):
    page.load("screen=compare&model=compiled/induction:n=31,letters=10&beside=learned/induction")
    page.until("return globalThis.looms?.length === 2 && looms.every((one) => one.facts)")
    page.until("return document.querySelector('.differences').dataset.done")
    sections = "[...document.querySelectorAll('.differences section')]"
    assert page.run(f"return {sections}.every((one) => one.scrollWidth <= one.clientWidth)")


def test_compare_offers_models_of_the_same_name_and_one_of_them_is_opened_by_a_click(page):
    page.load("screen=compare&model=tiny-addition")
    page.until("return document.querySelectorAll('.likely a').length")
    offered = page.run("return [...document.querySelectorAll('.likely a')].map((one) => one.textContent)")
    assert "addition" in offered
    assert not {"tiny-addition", "hello"} & set(offered)
    page.run("[...document.querySelectorAll('.likely a')].find((one) => one.textContent === 'addition').click()")
    page.until("return globalThis.looms?.length === 2 && looms.every((one) => one.facts)")


def test_a_model_that_is_chosen_from_the_list_is_opened_and_one_that_is_being_typed_is_not(page):
    opened(page, "run", "hello")
    give = (
        "const p = document.querySelector('nav .picker'); p.value = arguments[0];"
        "p.dispatchEvent(new InputEvent('input', {inputType: arguments[1], bubbles: true}))"
    )
    page.run(give, "min", "insertText")
    page.until_text("h1", "hello")
    assert "model=hello" in page.run("return location.hash")
    page.run(give, "min", "insertReplacementText")
    page.until_text("h1", "min")


def test_two_models_of_other_tokens_are_refused_in_one_line(page):
    page.load("screen=compare&model=search&beside=hello")
    page.until_text("#refusal", "search and hello: other tokens")


def hostile_model():
    """A model whose every name is markup. It is named so that a line of it would run, if it were not text."""
    config = Config(vocab=3, block=4, d_model=4, layers=1, heads=1, d_head=2, d_ff=2)
    vectors = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    notes = {
        "program": HOSTILE,
        "heads": {"0.0": HOSTILE},
        "mlps": {"0": HOSTILE},
        "directions": {HOSTILE: 2},
        "readings": {HOSTILE: {"vectors": vectors, "scale": 1.0, "kind": "token", "values": [HOSTILE] * 3}},
    }
    tokens = (HOSTILE.replace(" ", "/"), "b", "c")
    return Model(config, params.random(config, seed=0), Vocab(tokens, separator=" "), notes)


def test_a_model_full_of_markup_is_text_in_every_screen_and_runs_nothing(page):
    name = '<img src=x onerror="document.title=1">.safetensors'
    hl.save(hostile_model(), page.folder / name)
    quoted = name.replace("<", "%3C").replace(">", "%3E").replace(" ", "%20").replace('"', "%22").replace("=", "%3D")
    for screen in ("run", "text", "compare", "home"):
        page.load(f"screen={screen}&model={quoted}&beside={quoted}")
        if screen != "home":
            page.until(READY)
            page.until_text("h1", name)
            page.run("loom.select({text: 'b c', stage: 1})")
            page.until_text(".panel", HOSTILE)
        sources = page.run("return [...document.images].map((one) => one.getAttribute('src'))")
        assert all(source.startswith("blob:") for source in sources)  # the pictures of lessons, on Home
        assert page.run("return document.scripts.length") == 1
        assert not page.run("return document.title === '1'")


def test_on_a_phone_the_whole_figure_can_be_scrolled_above_the_exam(page, browser):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        opened(page, "run", "addition")
        bottoms = (
            "const bottom = (one) => document.querySelector(one).getBoundingClientRect().bottom;"
            "document.querySelector('.panel').scrollIntoView();"
            "return [bottom('.loom'), document.querySelector('.panel').getBoundingClientRect().top]"
        )
        loom, panel = page.run(bottoms)
        assert loom <= panel + 1
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_a_phone_the_figure_is_in_sight_below_the_text_and_nothing_scrolls_into_the_void(page, browser):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for screen in ("run", "text", "compare"):
            opened(page, screen, "hello", beside="hello")
            assert page.run("return document.querySelector('.loom').clientHeight") > 300, screen
            assert page.run("return document.documentElement.scrollHeight") <= 844, screen
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_text_of_a_model_is_read_on_a_phone_without_a_sideways_scroll(page, browser):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for screen in ("run", "text", "compare"):
            opened(page, screen, "hello", beside="hello")
            assert page.run("return document.documentElement.scrollWidth") <= 390, screen
            assert page.run("return document.querySelector('#screen').scrollWidth") <= 390, screen
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
