"""Time to target: the seconds of each seed, their curve, and resuming."""

import json
from xml.etree import ElementTree

import pytest

from command import output
from handloom import HandloomError
from handloom.discover.loop.targets import SeedTime, TimesToTarget, begin_targets, reopen_targets
from handloom.view.svg.drawing import Disc, Polyline, as_svg
from handloom.view.svg.target_curve import target_curve

CYCLES = "four-cycle-free:n=8"  # 11 edges at most
CHOICES = {"model": False, "attempts": 40, "steps": 500}
TIMES = TimesToTarget(
    "p:n=3",
    7,
    10.0,
    (
        SeedTime(0, True, 4.0, 3.0, 7),
        SeedTime(1, False, 10.0, 6.0, 6),
        SeedTime(2, True, 1.0, 1.0, 8),
        SeedTime(3, True, 2.5, 2.0, 7),
    ),
)


def test_the_curve_is_the_share_of_all_seeds_that_had_reached_the_score():
    assert TIMES.curve == [(1.0, 0.25), (2.5, 0.5), (4.0, 0.75)]
    assert TIMES.median == 2.5
    assert TimesToTarget("p", 7, None, TIMES.trials[:2]).median == 4.0
    assert TimesToTarget("p", 7, None, TIMES.trials[1:2]).median is None
    assert str(TIMES) == "p:n=3: 7 reached with 3 of 4 seeds; half of them within 2.5 CPU seconds, the slowest in 4"


def test_the_picture_rises_at_each_time_and_ends_at_the_limit():
    drawing = target_curve(TIMES)
    discs = [shape for shape in drawing.shapes if isinstance(shape, Disc)]
    assert len(discs) == 3
    assert [disc.y for disc in discs] == sorted((disc.y for disc in discs), reverse=True)
    (line,) = [shape for shape in drawing.shapes if isinstance(shape, Polyline)]
    x, y = zip(*line.points, strict=True)
    assert list(x) == sorted(x)
    assert list(y) == sorted(y, reverse=True)
    second = (discs[1].x - x[0]) / 2.5
    assert x[-1] - x[0] == pytest.approx(10 * second, abs=1.0), "seeds that did not reach it had all of the time"
    ElementTree.fromstring(as_svg(target_curve(TimesToTarget("p", 7, None, TIMES.trials[1:2]))))


def test_every_seed_is_run_until_the_score_without_knowing_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--until", 11, "--seeds", 3, "--no-model", "--attempts", 40, "--steps", 500]
    told = json.loads(output("discover", CYCLES, *words, "--json", cwd=tmp_path))
    assert (told["target"], told["reached"], told["limit"]) == (11, 3, None)
    assert [trial["seed"] for trial in told["trials"]] == [0, 1, 2]
    assert all(trial["best"] == 11 and trial["reached"] and trial["cpu"] >= 0 for trial in told["trials"])
    assert [share for _, share in told["curve"]] == pytest.approx([1 / 3, 2 / 3, 1])
    folder = tmp_path / told["run"]
    assert json.loads((folder / "targets.json").read_text())["curve"] == told["curve"]
    assert ElementTree.parse(folder / "curve.svg").getroot().tag.endswith("svg")
    assert not (tmp_path / "records.sqlite").exists()
    assert "reached with 3 of 3 seeds" in output("discover", "--resume", told["run"], cwd=tmp_path)


def test_a_score_that_is_not_reached_takes_all_of_its_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with begin_targets(CYCLES, 12, 2, CHOICES | {"seconds": 0.2}) as targets:
        assert [(trial.reached, trial.best) for trial in targets.run()] == [(False, 11), (False, 11)]
        assert all(trial.cpu >= 0.2 for trial in targets.trials)
        assert targets.result.median is None


def test_seeds_that_are_left_are_run_when_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with begin_targets(CYCLES, 11, 3, CHOICES) as targets:
        first = next(targets.run())
    with reopen_targets(targets.folder.path) as again:
        assert again.trials == [first]
        assert [trial.seed for trial in again.run()] == [1, 2]
    with reopen_targets(targets.folder.path) as done:
        assert list(done.run()) == []
        assert done.result.trials[0] == first


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--until", 11, "--seeds", 2, "--seed", 1], "--seed with --until and --seeds"),
        (["--until", 11, "--seeds", 2, "--store", "x.sqlite"], "--store with --until and --seeds"),
        (["--seeds", 2, "--seconds", 1], "--seeds is for --compare, or --until X"),
    ],
    ids=str,
)
def test_options_that_do_not_go_with_it_are_refused(tmp_path, words, told):
    assert told in output("discover", CYCLES, *words, cwd=tmp_path, code=2)


def test_nothing_is_left_of_what_cannot_begin(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HandloomError, match="no problem"):
        begin_targets("nothing", 3, 2, {})
    with pytest.raises(HandloomError, match="nothing to run"):
        begin_targets(CYCLES, 3, 0, {})
    assert not list(tmp_path.iterdir())
