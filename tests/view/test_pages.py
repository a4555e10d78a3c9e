"""Every page is one file in one style, which asks for nothing from elsewhere; colours are told apart by everybody."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import handloom.view.pages
from handloom.view import colours
from handloom.view.colours import rgb
from handloom.view.pages.skeleton import asset, figure, notebook_part, skeleton, table
from handloom.view.pages.tour import Shown, tour_page
from handloom.view.pages.tour_stops import STOPS, Stop
from handloom.view.svg.drawing import LOOKS, Drawing, Rect
from parsed import Balanced

ROOT = Path(__file__).parents[2]
ASSETS = sorted(path.name for path in Path(handloom.view.pages.__file__).parent.glob("*.[cj]s*"))
BAD = '<img src=x onerror="alert(1)"> & </title>'


def variables(text):
    """The custom properties that a block of CSS sets."""
    return dict(re.findall(r"--([\w-]+): (#\w{6})", text))


LIGHT, DARK = map(variables, asset("style.css").split("@media(prefers-color-scheme:dark)")[:2])


def test_a_page_is_one_file_that_asks_for_nothing():
    text = skeleton(BAD, table([[BAD, BAD]]), scripts=["enlarge.js"])
    parsed = Balanced(text)
    assert not parsed.refers
    assert parsed.tags["img"] == 0
    assert parsed.tags["script"] == parsed.tags["style"] == 1
    assert BAD in parsed.text
    assert "default-src 'none'" in text
    assert asset("style.css") in text
    assert asset("enlarge.js") in text


def test_no_asset_refers_to_anything():
    assert ASSETS == ["engine.js", "enlarge.js", "generations.js", "live.js", "notebook.css", "style.css", "unpack.js"]
    for name in ASSETS:
        text = asset(name).replace("http://www.w3.org/2000/svg", "")  # the name of a language, not an address
        assert not re.search(r"https?:|url\((?!#)|@import|innerHTML|</script", text), name


def test_the_style_changes_nothing_else_in_a_notebook():
    """Every rule is below .handloom."""
    css = re.sub(r"/\*.*?\*/", "", asset("style.css"), flags=re.DOTALL)
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", re.sub(r"@media[^{]*\{", "", css))
    assert len(rules) > 50
    for selectors in rules:
        for selector in re.split(r",(?![^(]*\))", selectors):
            assert re.match(r"(body)?\.handloom\b", selector.strip()), selector


def test_light_and_dark_set_the_same_colours_and_light_ones_are_those_of_pictures():
    assert DARK.keys() == LIGHT.keys()
    for name in ("PAPER", "CARD", "INK", "SOFT", "GRID", "FRAME", "GREY", "BLUE", "ORANGE", "GREEN"):
        assert LIGHT[name.lower()] == getattr(colours, name)


def test_every_part_of_a_drawing_has_a_colour_in_a_page():
    css = asset("style.css")
    for part in LOOKS:
        assert re.search(rf"\.{part}\b", css) or part.endswith("-pale"), part


def linear(colour):
    return np.where(rgb(colour) <= 0.04045, rgb(colour) / 12.92, ((rgb(colour) + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """As in WCAG 2."""
    dark, light = sorted(linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (a, b))
    return (light + 0.05) / (dark + 0.05)


def oklab(colour):
    """Ottosson, A perceptual color space for image processing (2020)."""
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    lab = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    return np.array(lab) @ np.cbrt(np.array(cones) @ linear(colour))


SEES = {  # linear RGB as seen with a deficiency: Machado, Oliveira and Fernandes (2009), severity 1
    "protanopia": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deuteranopia": [[0.3673, 0.8606, -0.2279], [0.2801, 0.6727, 0.0472], [-0.0118, 0.0429, 0.9689]],
    "tritanopia": [[1.2555, -0.0768, -0.1787], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


def seen(colour, matrix):
    shown = np.clip(np.array(matrix) @ linear(colour), 0, 1)
    encoded = np.where(shown <= 0.0031308, 12.92 * shown, 1.055 * shown ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * float(channel)):02x}" for channel in encoded)


@pytest.mark.parametrize("mode", [LIGHT, DARK], ids=["light", "dark"])
def test_blue_and_orange_are_equally_strong_and_told_apart_by_everybody(mode):
    blue, orange = mode["blue"], mode["orange"]
    assert abs(oklab(blue)[0] - oklab(orange)[0]) < 0.03
    for matrix in [np.eye(3), *SEES.values()]:
        distance = np.linalg.norm(oklab(seen(blue, matrix)) - oklab(seen(orange, matrix)))
        assert distance > 0.15, "a just noticeable difference is about 0.02"


@pytest.mark.parametrize("mode", [LIGHT, DARK], ids=["light", "dark"])
def test_words_can_be_read(mode):
    for words in ("ink", "soft", "blue", "orange", "green"):
        for ground in ("paper", "card"):
            assert contrast(mode[words], mode[ground]) >= 4.5, (words, ground)
    assert contrast(mode["on-blue"], mode["blue"]) >= 4.5


def test_a_broad_picture_scrolls_and_a_small_one_does_not():
    small, broad = (figure(Drawing(width, 20, (Rect(0, 0, 5, 5, "chosen"),))) for width in (300, 1500))
    assert 'class="broad"' in broad
    assert 'class="broad"' not in small


def test_what_a_notebook_shows_has_its_style_with_it():
    parsed = Balanced(notebook_part("<p>words</p>"))
    assert parsed.tags["style"] == 1
    assert not parsed.refers


def test_the_page_of_a_tour_shows_every_stop_with_its_output():
    shown = [Shown(stop, f"output of {stop.title}") for stop in STOPS]
    text = Balanced(tour_page([*shown, Shown(Stop(BAD, BAD, BAD), BAD)]))
    assert not text.refers
    assert text.tags["img"] == 0
    assert text.words.count(BAD) >= 3
    for stop in STOPS:
        assert stop.words in text.text
        assert stop.code.strip() in text.text
        assert f"output of {stop.title}" in text.text


def test_the_style_sheet_and_the_scripts_are_installed(tmp_path):
    pytest.importorskip("setuptools")
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert {path.name for path in (tmp_path / "handloom/view/pages").glob("*.[cj]s*")} == set(ASSETS)
