"""The folder of a run, one reader for all kinds."""

import json
from pathlib import Path

import pytest

from discoveries import CYCLES, FAST
from handloom.core import HandloomError
from handloom.discover import discover
from handloom.discover.loop.start import reopen
from handloom.learn.api import resume, train
from handloom.runs import Clock, Folder, runs_in
from training_runs import RULE, SMALL


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A run of learn and a run of discover."""
    folder = tmp_path_factory.mktemp("kinds")
    train(RULE, folder=folder / "learn", steps=2, every=2, **SMALL)
    discover(CYCLES, store=folder / "s.sqlite", folder=folder / "discover", generations=1, model=False, **FAST)
    return folder


def without_kind(run):
    """The run.json of a run made before kinds were noted."""
    about = json.loads((run / "run.json").read_text())
    return json.dumps({key: value for key, value in about.items() if key not in ("kind", "sha256")})


def test_run_json_says_which_kind_version_and_seed(both):
    for kind in ("learn", "discover"):
        about = Folder.open(both / kind).about(kind)
        assert (about["kind"], about["handloom"], about["seed"]) == (kind, "0.1.0", 0)


@pytest.mark.parametrize("noted", [True, False])
def test_a_run_of_another_kind_is_refused_by_its_kind_alone(both, tmp_path, noted):
    for kind, other, again in (("learn", "discover", reopen), ("discover", "learn", resume)):
        (tmp_path / kind).mkdir()
        text = json.dumps({"kind": kind}) if noted else without_kind(both / kind)
        (tmp_path / kind / "run.json").write_text(text)
        with pytest.raises(HandloomError, match=rf"{kind} is a run of {kind} \(expected a run of {other}\)"):
            again(tmp_path / kind)


def test_a_run_that_does_not_note_its_kind_is_read_as_what_it_is(both, tmp_path):
    for kind in ("learn", "discover"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "run.json").write_text(without_kind(both / kind))
        assert Folder.open(tmp_path / kind).about(kind)["kind"] == kind
    assert [run.kind for run in runs_in(tmp_path)] == ["discover", "learn"]


def test_a_run_of_a_kind_that_is_not_known_is_listed_with_what_is_wrong(tmp_path):
    (tmp_path / "run.json").write_text('{"kind": "knit", "settings": {}}')
    (run,) = runs_in(tmp_path)
    assert run.damaged == "run.json: no kind of run 'knit' (expected learn or discover)"


def test_what_is_missing_in_run_json_is_named(tmp_path):
    (tmp_path / "run.json").write_text('{"kind": "learn", "task": "parity"}')
    with pytest.raises(HandloomError, match=r"run\.json is damaged: it has no network, settings; start a new run"):
        Folder.open(tmp_path).about("learn", needed=("task", "network", "settings"))
    with pytest.raises(HandloomError, match=r"is not the folder of a run: it has no run\.json"):
        Folder(tmp_path / "nowhere").about()


def test_a_json_file_that_was_changed_is_damaged_and_one_without_a_digest_is_read(tmp_path):
    folder = Folder(tmp_path)
    folder.write_about("learn", {})
    folder.write_json("state.json", {"generation": 1})
    assert folder.read_json("state.json") == {"generation": 1}
    file = tmp_path / "state.json"
    file.write_text(file.read_text().replace('"generation": 1', '"generation": 2'))
    with pytest.raises(HandloomError, match=r"state\.json is damaged: its sha256 does not match"):
        folder.read_json("state.json")
    file.write_text('{"generation": 2}')
    assert folder.read_json("state.json") == {"generation": 2}


def test_the_clock_counts_the_time_before_a_run_was_resumed():
    times = iter([5.0, 7.5, 9.0])
    clock = Clock(before=60.0, now=lambda: next(times))
    assert [clock.elapsed(), clock.elapsed()] == [62.5, 64.0]


def test_the_last_line_is_read_from_the_end_of_a_long_file(tmp_path):
    folder = Folder(tmp_path)
    assert folder.last_line() == ({}, None)
    for step in range(2000):
        folder.append({"step": step, "text": "x" * 100})
    assert (tmp_path / "metrics.jsonl").stat().st_size > 3 * 65_536
    assert folder.last_line()[0]["step"] == 1999
    with open(Path(tmp_path, "metrics.jsonl"), "a") as file:
        file.write('{"step": 20')
    assert folder.last_line()[0]["step"] == 1999
