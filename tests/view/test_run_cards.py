"""Pictures of paths, shares, the lens and attribution: every number is there, sizes are bounded, text is escaped."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import handloom as hl
from draws import random_model
from handloom.core import Config, Vocab
from handloom.view.run_cards import paths_card
from handloom.view.svg.contributions import attribution_drawing, bars, lens_drawing, paths_drawing, shares_drawing
from handloom.view.svg.drawing import Label, Rect, as_svg

REPEATED = "4 0 8 0 1 3 0 8 0"


def labels(drawing):
    return [shape.text for shape in drawing.shapes if isinstance(shape, Label)]


def test_a_bar_is_as_long_as_its_number():
    drawn = bars([("a", 2.0), ("b", -1.0), ("c", 0.0)])
    boxes = {shape.hint[0]: shape for shape in drawn.shapes if isinstance(shape, Rect)}
    assert boxes["a"].width == pytest.approx(2 * boxes["b"].width)
    assert boxes["b"].x + boxes["b"].width == pytest.approx(boxes["a"].x)  # both end at zero
    assert (boxes["a"].part, boxes["b"].part, boxes["c"].width) == ("plus", "minus", 0)
    assert labels(drawn) == ["a", "+2", "b", "-1", "c", "0"]


def test_the_bars_of_paths_name_the_largest_and_sum_the_others():
    found = hl.read.paths(hl.program("search"), REPEATED)
    drawn = labels(paths_drawing(found, most=3))
    assert drawn[:2] == ["embed → 1.0", f"{found.paths[0].contribution:+.3g}"]
    assert drawn[-2] == f"{found.count - 3} others"
    assert len(labels(attribution_drawing(hl.read.direct_attribution(hl.program("search"), REPEATED)))) == 14


def test_what_is_only_rounding_is_a_zero_at_the_right_of_the_axis():
    found = hl.read.paths(hl.program("search"), REPEATED)
    assert "By number of heads" in paths_card(found)
    assert "e-1" not in paths_card(found).split("By number of heads")[1]
    ends = {shape.anchor for shape in bars([("a", 1.0), ("b", -1e-18)]).shapes if isinstance(shape, Label)}
    assert ends == {"start"}


def test_the_map_of_shares_has_a_cell_for_each_source_and_receiver():
    found = hl.read.shares(hl.program("search"), REPEATED)
    cells = {shape.hint: shape for shape in shares_drawing(found).shapes if isinstance(shape, Rect)}
    assert cells["embed, 1.0.v: 1"].opacity == 1
    assert not [hint for hint in cells if "1.1.q" in hint]  # reads nothing
    assert labels(shares_drawing(hl.read.Shares({"logits": {}}))) == ["no receiver reads what varies"]


def test_the_grid_of_the_lens_has_the_output_at_the_top():
    found = hl.read.lens(hl.program("search"), REPEATED)
    drawn = lens_drawing(found)
    tops = {shape.hint.partition(",")[0]: shape.y for shape in drawn.shapes if isinstance(shape, Rect)}
    assert sorted(tops, key=tops.get) == ["1.resid_post", "0.resid_post", "0.resid_pre"]
    shades = {shape.hint: shape.opacity for shape in drawn.shapes if isinstance(shape, Rect)}
    last = found.probability[-1, -1]
    assert shades[f"1.resid_post, position 8: 1 {last:.4g}"] == pytest.approx(last, abs=1e-3)


def test_cards_of_large_models_stay_small_and_tokens_are_text():
    config = Config(vocab=40, block=300, d_model=8, layers=6, heads=6, d_head=2, d_ff=4)
    tokens = ("<script>", "&", *(f"t{i}" for i in range(38)))
    model = random_model(config).with_(vocab=Vocab(tokens))
    ids = np.arange(300) % 40
    drawn = [
        paths_drawing(hl.read.paths(model, ids[:20], keep=5), most=5),
        shares_drawing(hl.read.shares(model, ids[:50])),
        lens_drawing(hl.read.lens(model, ids)),
        attribution_drawing(hl.read.direct_attribution(model, ids)),
    ]
    for drawing in drawn:
        assert drawing.width < 2_500
        assert drawing.height < 1_600
        ET.fromstring(as_svg(drawing))
    for value in (hl.read.lens(model, ids[38:45]), hl.read.direct_attribution(model, ids, answer="<script>")):
        shown = value._repr_html_()
        assert "<script>" not in shown
        assert "&lt;scr" in shown
    assert "<svg" in hl.read.shares(model, ids[:5])._repr_html_()
    assert "By number of heads" in hl.read.paths(hl.program("search"), REPEATED)._repr_html_()
