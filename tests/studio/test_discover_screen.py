"""Stories of Discover, in Chromium: what a user draws, keeps and searches for."""

from handloom.discover.records.store import Store
from studio_browser import browser, page, studio

__all__ = ["browser", "page", "studio"]  # fixtures

VERDICT, NOTE = ".draw .verdict", ".draw .note"


def board(page, problem):
    page.load(f"screen=discover&problem={problem}")
    page.until("return document.querySelector('.draw .verdict b')?.textContent")


def click(page, row, column, side):
    """Click a cell of a square grid."""
    page.run(
        "const [row, column, side] = arguments, canvas = document.querySelector('.draw canvas');"
        "canvas.scrollIntoView(); const box = canvas.getBoundingClientRect(), cell = (box.width - 12) / side;"
        "const at = {clientX: box.left + 6 + cell * (column + .5), clientY: box.top + 6 + cell * (row + .5)};"
        "canvas.dispatchEvent(new PointerEvent('pointerdown', {...at, bubbles: true}))",
        row,
        column,
        side,
    )


def click_vertex(page, vertex, count):
    """Click a vertex of a circle of them."""
    page.run(
        "const [v, count] = arguments, canvas = document.querySelector('.draw canvas');"
        "canvas.scrollIntoView(); const box = canvas.getBoundingClientRect(), half = box.width / 2;"
        "const turn = 2 * Math.PI * v / count - Math.PI / 2, far = half - 24;"
        "const at = {clientX: box.left + half + far * Math.cos(turn), clientY: box.top + half + far * Math.sin(turn)};"
        "canvas.dispatchEvent(new PointerEvent('pointerdown', {...at, bubbles: true}))",
        vertex,
        count,
    )


def test_discover_begins_with_a_board_to_draw_on(page):
    page.load("screen=discover")
    page.until_text(VERDICT, "nothing is chosen")
    click(page, 3, 4, 16)
    page.until_text(VERDICT, "✓ 1")


def test_a_triangle_of_edges_is_drawn_between_vertices_and_its_edges_are_named(page):
    board(page, "triangle-free:n=6")
    for vertex in (0, 2, 2, 5, 5, 0):
        click_vertex(page, vertex, 6)
    page.until_text(VERDICT, "✗ 3 not legal: (0, 2), (0, 5), (2, 5) is forbidden")
    for vertex in (2, 0):
        click_vertex(page, vertex, 6)
    page.until_text(VERDICT, "✓ 2")


def records(page, problem):
    return Store.open(page.folder / "records.sqlite").records(problem)


def test_three_points_on_the_board_make_a_triangle_that_keep_refuses_and_two_are_kept(page):
    board(page, "isosceles:n=6")
    for row, column in ((0, 0), (1, 2), (2, 0)):
        click(page, row, column, 6)
    page.until_text(VERDICT, "not legal: (0, 0), (1, 2), (2, 0) is forbidden")
    assert page.text(".draw .verdict b") == "✗ 3"
    page.press("Keep")
    page.until_text(NOTE, "is not legal and was not stored")
    assert records(page, "isosceles:n=6") == []
    click(page, 2, 0, 6)
    page.until_text(VERDICT, "✓ 2 7 below the best known value, 9")
    page.press("Keep")
    page.until_text(NOTE, "kept as record 1, 2, verified")
    (record,) = records(page, "isosceles:n=6")
    assert record.construction == [[0, 0], [1, 2]]
    page.until("return document.querySelectorAll('.gallery .card').length === 1")
    page.press("Keep")
    page.until_text(NOTE, "the construction is record 1 already")


def test_a_mirror_image_is_the_same_record(page):
    board(page, "isosceles:n=5")
    click(page, 0, 0, 5)
    page.press("Keep")
    page.until_text(NOTE, "kept as record")
    page.press("undo")
    click(page, 4, 4, 5)
    page.press("Keep")
    page.until_text(NOTE, "already, which is the same up to symmetry; change it")


def test_undo_clear_and_the_keyboard_draw_too(page):
    board(page, "isosceles:n=4")
    page.run("document.querySelector('.draw canvas').focus()")
    for key in ("ArrowRight", " ", "ArrowRight", " "):
        page.run(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))",
            key,
        )
    page.until_text(VERDICT, "✓ 2")
    page.press("undo")
    page.until_text(VERDICT, "✓ 1")
    page.press("clear")
    page.until_text(VERDICT, "✓ 0")


def test_letters_and_numbers_are_scored_at_each_click(page):
    board(page, "words:length=6,pattern=xx,letters=2")
    page.run("document.querySelector('.draw canvas').focus()")
    for key in "aba":
        page.run(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))",
            key,
        )
    page.until_text(VERDICT, "✓ 3")
    page.until_text(VERDICT, "equals the best known value, 3")
    board(page, "sidon:n=8")
    for key in (" ", "ArrowRight", " ", "ArrowRight", " "):
        page.run(
            "const c = document.querySelector('.draw canvas'); c.focus();"
            "c.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))",
            key,
        )
    page.until_text(VERDICT, "✗ 3")


def test_a_search_of_three_seconds_shows_the_best_and_the_log_of_improvements(page):
    page.load("screen=discover&problem=isosceles:n=6")
    page.until("return document.querySelector('.draw .verdict b')?.textContent")
    page.fill(seconds=3, model="no")
    page.press("Start")
    page.until("return location.hash.includes('run=')")
    page.until_text(".run-head .state", "done")
    best = max(record.score for record in records(page, "isosceles:n=6") if record.origin["how"] != "import")
    page.until_text(".run-head .verdict .score", str(best))
    assert page.text(".log li b") == str(best)
    far = "equals the best known value, 9" if best == 9 else f"{9 - best} below the best known value, 9"
    assert page.text(".run-head .badge") == far
    page.until("return document.querySelectorAll('.gallery .card').length > 1")
    page.load("screen=discover")
    page.until("return document.querySelectorAll('.run-list a').length === 1")
    page.run("document.querySelector('.run-list a').click()")
    page.until_text(".log", str(best))
    page.press("start from the best")
    page.until_text(VERDICT, f"✓ {best}")


def test_a_python_file_that_the_command_line_did_not_name_is_not_run(page):
    (page.folder / "mine.py").write_text("raise SystemExit('it ran')\n")
    page.load("screen=discover&problem=mine.py:n=3")
    page.until_text("#refusal", "a Python file that the command line did not name")
