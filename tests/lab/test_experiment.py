"""Claims, checks and verdicts: the rule, by all its cases; the catalogue; records; the table; the command."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from command import COMMAND, PROCESS, handloom, modules_after, output
from handloom.core import HandloomError
from handloom.lab import lab_page, repeated, table
from handloom.lab.catalogue import GROUPS, experiment, experiment_names, extras
from handloom.lab.exact import hopfield
from handloom.lab.experiment import Check, Conclusion, Finding, Lab, verdict_of
from handloom.lab.keeping import keep, record_of, rounded
from handloom.lab.one_thread import begin_worker
from handloom.lab.repeated_pictures import repeated_panels
from handloom.lab.running import conclude, conclusions
from handloom.view.figures.panels import DRAW, ROOM, Bars, Lines, Mark, band

DOCS = Path(__file__).parents[2] / "docs"


def claim(*passed):
    return [Check(f"claim {i}", 1.0 if one else 0.0, least=0.5) for i, one in enumerate(passed)]


def control(good):
    return Check("control", 0.0 if good else 1.0, least=0.5, control=True)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_the_verdict_counts_checks_over_all_seeds(seeds):
    flat = [one for seed in seeds for one in seed]
    expected = "holds" if all(flat) else "holds in part" if any(flat) else "does not hold"
    assert verdict_of([Finding([*claim(*seed), control(True)]) for seed in seeds]) == expected


def test_a_control_that_passes_in_one_seed_makes_the_experiment_say_nothing():
    good, bad = Finding([*claim(True), control(True)]), Finding([*claim(True), control(False)])
    assert verdict_of([good, good, bad]) == "says nothing"


def test_a_check_without_a_value_leaves_the_claim_open():
    assert verdict_of([Finding([*claim(True), Check("late", None, most=1.0), control(True)])]) == "open"
    assert verdict_of([Finding([*claim(True), Check("late", None, most=1.0, control=True)])]) == "open"


def test_a_quick_run_leaves_open_what_more_training_may_change():
    missed, reached = Check("late", 0.4, least=0.5), Check("early", 0.6, least=0.5)
    assert Lab(quick=True).in_time(missed).value is None
    assert Lab(quick=False).in_time(missed) == missed
    assert Lab(quick=True).in_time(reached) == reached


def test_what_was_not_measured_is_neither_a_yes_nor_a_no():
    late = Finding([*claim(True), Check("late", None, most=1.0), Check("lost", None, most=1.0, control=True)])
    shown = str(Conclusion.of(hopfield.CLAIM, [late] * 3, range(3), 1.0, True))
    assert [line.split()[0] for line in shown.splitlines() if "not measured" in line] == ["–", "–"]
    row = {"name": "late", "found": "not measured", "bounds": "≤ 1", "control": True, "good": False, "open": True}
    assert lab_page.check_line(row).endswith("| open |")


def test_a_value_that_is_not_a_number_is_outside_all_bounds():
    assert Check("nan", float("nan"), least=0.0).within is False
    assert Check("nan", float("nan"), most=0.0).within is False


def test_a_check_needs_a_bound():
    with pytest.raises(HandloomError, match="no bounds"):
        Check("anything", 1.0)


@pytest.mark.parametrize("name", experiment_names())
def test_an_experiment_is_named_after_its_file_and_says_where_its_claim_is_from(name):
    module = experiment(name)
    assert module.CLAIM.name == name
    assert module.CLAIM.source
    assert module.CLAIM.seed in ("Wagner", "Bukatin", "Hsu and Moitra", "Mehlig", "the book")
    assert callable(module.run)
    assert callable(module.picture)


@pytest.mark.parametrize("name", [path.stem for path in sorted((DOCS / "lab").glob("*.json"))])
def test_every_record_has_three_seeds_a_control_and_a_picture(name):
    record = record_of(name, DOCS / "lab")
    assert len(record["seeds"]) >= 3
    assert not record["quick"]
    assert any(check["control"] for check in record["checks"])
    assert all((DOCS / "lab" / f"{name}-{which}.safetensors").exists() for which in record["models"])
    assert any(map(shows_a_claim, experiment(name).picture(record["series"])))
    assert (DOCS / "lab" / f"{name}.svg").exists()


def shows_a_claim(panel):
    """Whether there is something to compare with: a claimed number, a claimed curve, claimed cells, or a control."""
    curves = [curve for curve in getattr(panel, "curves", ()) if curve.control or "claim" in curve.name]
    others = [getattr(panel, name, None) for name in ("marks", "stairs", "claimed", "control")]
    return bool(curves) or any(others)


def test_every_claim_that_was_run_once_has_a_picture_with_the_claimed_number_in_it():
    for name, panels in repeated_panels(DOCS).items():
        assert all(panel.marks for panel in panels), "neither a claimed number nor the bound"
        assert all(any(getattr(panel, "control", ())) or panel.curves[-1].control for panel in panels)
        assert (DOCS / "lab" / table.picture_name(name)).exists(), "run `make lab-table`"


def test_the_page_and_the_list_are_what_the_records_say():
    rows = table.current_rows(DOCS / "lab")
    assert table.stored_rows() == rows, "run `make lab-table`"
    assert (DOCS / "lab.md").read_text() == lab_page.markdown(rows, DOCS / "lab"), "run `make lab-table`"


def test_weights_that_know_nothing_of_the_patterns_change_the_verdict(monkeypatch):
    assert conclude(hopfield, seeds=1).verdict == "holds"
    monkeypatch.setattr(
        hopfield, "hebbian", lambda patterns: len(patterns) * np.eye(len(patterns[0])) - patterns.T @ patterns
    )
    assert conclude(hopfield, seeds=1).verdict != "holds"


def test_processes_find_what_one_process_finds(tmp_path):
    (found, first), *_ = list(conclusions(["hopfield"], range(3), quick=True, workers=2))
    here = conclude(hopfield, seeds=3)
    assert [one.values for one in found.results] == [one.values for one in here.results]
    path = keep(found, hopfield.picture(found.series), first, tmp_path)
    record = json.loads(path.read_text())
    assert record["verdict"] == found.verdict
    assert record["series"] == [rounded(one) for one in found.series]
    assert (tmp_path / "hopfield.svg").read_text().startswith("<?xml")


def test_a_worker_allows_one_thread_before_it_loads_numpy():
    assert begin_worker.__module__ == "handloom.lab.one_thread"
    assert "numpy" not in modules_after("import handloom.lab.one_thread")


def test_a_record_of_fewer_than_three_seeds_is_refused(tmp_path):
    found = conclude(hopfield, seeds=1)
    with pytest.raises(HandloomError, match="3 seeds"):
        keep(found, [], Finding([]), tmp_path)


def test_the_list_loads_no_experiment_and_not_even_numpy():
    loaded = modules_after(COMMAND.format(words="'lab'"))
    assert "handloom.lab.table" in loaded
    assert not {name for name in loaded if name == "numpy" or name.startswith("handloom.lab.exact")}


def test_exact_experiments_do_not_load_torch():
    code = (
        "import sys; from handloom.lab.catalogue import *; [experiment(n) for n in experiment_names('exact')]; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_runs_an_experiment_and_writes_a_page(tmp_path):
    assert "overlap at load 0.12" in output("lab", "hopfield", "--seeds", 1, "-o", "page.html", cwd=tmp_path)
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_the_command_prints_what_a_script_needs(tmp_path):
    found = json.loads(output("lab", "hopfield", "--seeds", 1, "--json", cwd=tmp_path))
    assert {"name", "claim", "said", "found", "checks", "verdict", "seconds", "seeds"} <= set(found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hopfeld"], "did you mean hopfield"),
        (["hopfield", "--quick", "--full"], "two sizes"),
        (["--group", "all"], "no group"),
        (["hopfield", "-o", "page.docx"], "page.docx"),
        (["hopfield", "--all"], "--all: hopfield is one experiment; leave it out"),
        (["hopfield", "--group", "games"], "--group: hopfield is one experiment"),
        (["hopfield", "--missing"], "--missing: hopfield is one experiment"),
        (["hopfield", "--judge", "gnubg"], "only backgammon has judges"),
        (["--full"], "--full: without a name or --all the claims are listed"),
        (["--quick"], "--quick: without a name or --all the claims are listed"),
        (["--seeds", 5], "--seeds: without a name or --all the claims are listed"),
        (["--missing", "--records", "nowhere"], "--missing: nowhere is not a folder"),
        (["-o", "page.html"], "--output: without a name"),
        (["wagner/rule-2", "--full"], "--full: wagner/rule-2 has no run of minutes (open)"),
        (["tc0", "-o", "page.html"], "--output: tc0 has no run of minutes (not testable)"),
        (["tensor", "--full", "--records", "a-file"], "a-file is not a folder"),
    ],
)
def test_wrong_words_are_answered_in_one_line(words, message, tmp_path):
    (tmp_path / "a-file").write_text("")
    run = handloom("lab", *words, cwd=tmp_path)
    assert run.returncode == 2
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_a_claim_that_takes_hours_is_answered_from_its_stored_curve(tmp_path):
    shown = output("lab", "wagner/rule-1", cwd=tmp_path)
    assert "right after 15,000 steps: 99.9 %" in shown
    assert "handloom learn wagner/rule-1" in shown


def test_a_claim_that_cannot_be_tested_is_answered_with_the_reason(tmp_path):
    shown = output("lab", "gpt-4-experts", cwd=tmp_path)
    assert "the models are closed" in shown
    assert "not testable; in its place: experts, lora" in shown
    listed = {row["name"]: row for row in json.loads(output("lab", "--json", cwd=tmp_path))}
    assert listed["gpt-4-experts"]["why"] == "the models are closed"
    assert listed["hopfield"]["checks"][0]["name"] == "overlap at load 0.12"


def test_fewer_than_three_seeds_are_said_to_be_too_few_and_leave_no_record(tmp_path):
    few = handloom("lab", "tensor", "--full", "--seeds", 2, "--records", "records", cwd=tmp_path)
    assert "2 of the 3 seeds that a verdict takes" in few.stdout
    assert "no record will be kept: that takes 3 seeds or more" in few.stderr
    assert not (tmp_path / "records").exists()
    enough = output("lab", "tensor", "--full", "--records", "records", cwd=tmp_path)
    assert "(3 seeds, full" in enough
    assert enough.strip().endswith("tensor.json")
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == ["tensor.json", "tensor.svg"]


def test_a_number_that_ends_the_claim_is_not_said_twice(tmp_path):
    assert output("lab", "wagner/rule-1", cwd=tmp_path).count("99 % after 15,000 steps") == 1


def test_a_curve_that_is_too_short_leaves_its_claim_open(tmp_path):
    rows = {row["name"]: row for row in repeated.repeated_rows(DOCS)}
    assert rows["wagner/rule-1"]["verdict"] == "holds"
    short = repeated.check_of(repeated.Stored("rule-1", 10**6, least=0.9), [{"step": 1, "success": 1.0}])
    assert short.value is None


def test_a_claim_about_a_heatmap_takes_more_than_right_samples(tmp_path):
    for room in ("talk", "discover"):
        shutil.copytree(DOCS / room, tmp_path / room, ignore=shutil.ignore_patterns("*.png", "*.svg", "*.md"))
    file = tmp_path / "talk" / "measured.json"
    measured = json.loads(file.read_text("utf-8"))

    def verdict_of(name):
        return next(row["verdict"] for row in repeated.repeated_rows(tmp_path) if row["name"] == name)

    assert verdict_of("wagner/13-22") == "holds in part"
    for when in ("", "without decay, "):
        measured["wagner/13-22"][f"{when}after 45,000 steps"] = 0.6
    measured["wagner/board"]["found"] = measured["wagner/board"]["even"]
    file.write_text(json.dumps(measured))
    assert verdict_of("wagner/13-22") == "holds"
    assert verdict_of("wagner/board") == "holds in part"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are listed there")
def test_a_killed_command_leaves_no_process_behind(tmp_path):
    with subprocess.Popen([*PROCESS, "lab", "parity-limit", "--full"], cwd=tmp_path) as command:
        workers = wait_for(lambda: children_of(command.pid))
        command.kill()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def children_of(pid):
    """The processes of a pool, once there are some that work."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def wait_for(condition):
    """Its value, as soon as it is true; a machine may be slow."""
    for _ in range(600):
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come about within a minute")


def test_an_experiment_says_what_to_install():
    with pytest.raises(HandloomError, match=r"pip install 'handloom\[learn\]'"), extras():
        raise ModuleNotFoundError("no module named torch.nn", name="torch.nn")
    with pytest.raises(ModuleNotFoundError), extras():
        raise ModuleNotFoundError("no module named x", name="x")


def test_groups_hold_every_experiment_once():
    assert sum(len(experiment_names(group)) for group in GROUPS) == len(experiment_names())


def test_a_lab_gives_the_same_numbers_to_the_same_seed():
    assert Lab(3).rng(1).random() == Lab(3).rng(1).random() != Lab(4).rng(1).random()


def names_at_marks(panel):
    """A panel drawn, and the vertical place of each name of a mark: 0 and 1 are the ends of the axis."""
    axis = Figure(figsize=(4.4, 3.3)).add_subplot()
    DRAW[type(panel)](axis, panel)
    axis.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axis.texts]
    return [tuple(axis.transAxes.inverted().transform([(0, box.y0), (0, box.y1)])[:, 1]) for box in boxes]


@pytest.mark.parametrize("log", [False, True])
def test_names_of_marks_are_inside_the_axis_and_off_the_curves_at_its_bottom(log):
    falling = band("loss", [1, 2, 3, 4], [[9.0, 3.0, 1.2, 1.0]])
    marks = [Mark(9.0, "top"), Mark(1.0, "bottom")]
    top, bottom = names_at_marks(Lines("", "step", "nats", [falling], marks, log_y=log))
    assert 0 <= bottom[0] < bottom[1] <= ROOM + 0.03  # under its line, which is a ROOM from the bottom
    assert top[1] <= 1.01
    (bar,) = names_at_marks(Bars("", "points", ["a"], [[22.0]], marks=[Mark(25.0, "said: 25")]))
    assert bar[1] <= 1.01
