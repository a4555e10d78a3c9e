"""Wagner's experiment: attempts as in the talk, what is sampled and what it is worth, and the page that reports it."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from handloom.core import HandloomError
from handloom.discover.loop.report import statistics_of
from handloom.discover.model.codec import Codec
from handloom.discover.problem import verdict
from handloom.discover.search.symmetry import orbits_of, symmetries_of
from handloom.lab.wagner import (
    ALL,
    MALFORMED,
    Experiment,
    attempts,
    attempts_for,
    best_of,
    best_smaller,
    counted,
    experiment,
    isosceles,
    judged,
    legal_part,
    main,
    target_sizes,
)
from handloom.lab.wagner_figures import wagner_figure

DOCS = Path(__file__).parents[2] / "docs" / "discover"
SMALL = Experiment(
    n=6, count=150, middle=5.5, spread=1.5, most=7, steps=60, samples=40, layers=1, heads=2, width=16, tokens="sparse"
)


def has_two_equal_sides(a, b, c):
    """The sides, squared, as a set."""
    sides = {(p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 for p, q in combinations((a, b, c), 2)}
    return len(sides) < 3


def is_legal(n, construction):
    return not any(has_two_equal_sides(*some) for some in combinations([divmod(i, n) for i in construction], 3))


def test_the_attempts_have_the_four_numbers_of_the_talk():
    found = attempts(16, 250, seed=3)
    told = statistics_of([len(construction) for construction in found])
    assert abs(told["mean"] - 16.7) < 0.3
    assert told["median"] == 17
    assert abs(told["top_fifth"] - 20.7) < 0.3
    assert told["max"] == 23


def test_attempts_are_legal_and_of_the_wanted_sizes_and_differ():
    found = attempts(16, 60, seed=1)
    assert sorted(map(len, found)) == target_sizes(60, 16.8, 3.0, 23)
    assert all(is_legal(16, construction) for construction in found)
    assert len(set(found)) == 60


def test_attempts_follow_from_their_seed():
    assert attempts(16, 20, 5) == attempts(16, 20, 5)
    assert attempts(16, 20, 5) != attempts(16, 20, 6)


def test_attempts_under_a_symmetry_are_legal_and_have_it():
    problem = isosceles(6)
    for name in ("mirror", "rotation-180", "diagonal"):
        group = orbits_of(problem, name).group
        for construction in attempts(6, 12, 0, middle=6, spread=1, most=8, symmetry=name):
            assert is_legal(6, construction)
            assert 0 < len(construction) <= 8
            assert all(set(one[list(construction)]) == set(construction) for one in group)


def test_attempts_under_all_symmetries_have_some_of_each_kind():
    problem = isosceles(6)
    found = attempts(6, 60, 0, middle=6, spread=1, most=8, symmetry=ALL)
    groups = {name: orbits_of(problem, name).group for name in symmetries_of(problem)}

    def has(construction, group):
        return all(set(one[list(construction)]) == set(construction) for one in group)

    for name in ("mirror", "rotation-180", "diagonal"):
        assert any(has(construction, groups[name]) for construction in found)
    assert any(not any(has(construction, group) for group in groups.values()) for construction in found)


def test_the_best_smaller_constructions_are_all_those_of_brute_force():
    """For n = 1, …, 4 every subset of the grid can be tried."""
    for n in range(1, 5):
        best, found = 0, []
        for bits in range(1 << (n * n)):
            size = bits.bit_count()
            if best <= size <= 7:  # no 7 of 16 points will do, and so no more
                construction = tuple(i for i in range(n * n) if bits >> i & 1)
                if is_legal(n, construction):
                    best, found = (size, [construction]) if size > best else (best, [*found, construction])
        assert best_of(isosceles(n), 0, 20, 1_000) == sorted(found), n


def test_the_best_smaller_constructions_have_the_sizes_of_the_talk():
    told = counted(best_smaller(6, searches=3, steps=2_000))
    assert {int(n): entry["best"] for n, entry in told.items()} == dict(enumerate((1, 2, 4, 6, 7, 9), 1))


def test_the_legal_part_is_legal_and_all_of_what_is_legal():
    rng = np.random.default_rng(0)
    problem = isosceles(7)
    kinds = set()
    for _ in range(200):
        size = int(rng.integers(0, 12))
        construction = tuple(sorted(rng.choice(49, size, replace=False).tolist()))
        part = legal_part(problem, construction)
        assert is_legal(7, part)
        assert (part == construction) == is_legal(7, construction)
        kinds.add(part == construction)
        for left_out in set(construction) - set(part):  # none of them could be put back in
            assert not is_legal(7, (*part, left_out))
    assert kinds == {True, False}


def test_sampled_strings_get_the_scores_of_the_talk():
    """A 3 × 3 grid: a legal string, one with a triangle in it, one cell too many, another size, and nothing."""
    problem = isosceles(3)
    tokens = Codec.of("cells", [problem.space, isosceles(2).space])
    sampled = [
        [*tokens.vocab.encode(text), tokens.end] for text in ("110/000/000", "111/000/000", "1100/000/000", "10/01")
    ]
    result = judged(problem, tokens, [*sampled, [tokens.end]], {(0, 1)})
    assert result["scores"]["histogram"] == {"-10": 3, "2": 2}
    assert result["scores"]["mean"] == pytest.approx((2 + 2 + 3 * MALFORMED) / 5)
    assert (result["malformed"], result["legal"], result["new"], result["legal_and_new"]) == (3, 1, 1, 0)
    assert result["points"]["histogram"] == {"-10": 3, "2": 1, "3": 1}
    assert result["largest_legal"] == 2
    assert result["best"] == [[0, 0], [0, 1]]


@pytest.mark.parametrize("with_smaller", [False, True])
def test_a_small_experiment_gives_the_same_again_and_counts_all_samples(with_smaller):
    wanted, smaller = replace(SMALL, with_smaller=with_smaller), best_smaller(5, searches=2, steps=300)
    tried = attempts_for(wanted)
    one, two = (experiment(wanted, tried, smaller) for _ in range(2))
    assert {**one, "training_seconds": 0} == {**two, "training_seconds": 0}
    sampled = one["sampled"]
    for counted_as in ("scores", "points"):
        assert sampled[counted_as]["count"] == 40 == sum(sampled[counted_as]["histogram"].values())
        assert sampled[counted_as]["histogram"].get("-10", 0) == sampled["malformed"]
    assert sampled["legal_and_new"] <= min(sampled["legal"], sampled["new"])
    assert bool(one["smaller"]) == with_smaller
    problem = isosceles(6)
    assert verdict(problem, problem.space.read(sampled["best"])).score == max(sampled["scores"]["max"], 0)


def test_a_trained_model_writes_in_the_right_format_and_an_untrained_one_does_not():
    wanted = replace(SMALL, tokens="cells", samples=100, width=32, rate=3e-3)
    tried = attempts_for(wanted)
    malformed = [experiment(replace(wanted, steps=steps), tried)["sampled"]["malformed"] for steps in (0, 300)]
    assert malformed[0] == 100
    assert malformed[1] < 30


def test_the_command_adds_results_to_a_file(tmp_path):
    out = tmp_path / "found.json"
    options = "--n 2 --count 30 --middle 2 --spread 1 --most 2 --steps 3 --samples 5 --layers 1 --width 8 --heads 1"
    command = [sys.executable, "-m", "handloom.lab.wagner", *options.split(), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2
    assert main([*options.split(), "--seed", "1", "--out", str(out)]) == 0
    results = json.loads(out.read_text())
    assert [(r["settings"]["seed"], r["settings"]["with_smaller"]) for r in results] == [
        (0, False), (0, True), (1, False), (1, True)
    ]  # fmt: skip
    assert main([*options.split(), "--seed", "1", "--out", str(out)]) == 0
    assert len(json.loads(out.read_text())) == 4  # the same settings again replace what was there


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tokens", "letters"], "tokens='letters' must be one of cells, sparse, bpe"),
        (["--n", "0"], "n=0"),
        (["--count", "0"], "count=0"),
        (["--rate", "-1"], "rate=-1"),
        (["--spread", "0"], "the spread above 0"),
        (["--symmetry", "knot", "--count", "5"], "has no symmetry 'knot'"),
    ],
)
def test_bad_settings_are_refused_in_one_line(options, message, tmp_path, capsys):
    assert main([*options, "--out", str(tmp_path / "x.json")]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize("text", ["{}", "[1]", "no", '{"settings": 1}'])
def test_a_file_of_something_else_is_left_alone(text, tmp_path, capsys):
    out = tmp_path / "other.json"
    out.write_text(text)
    assert main(["--out", str(out)]) == 2
    assert "cannot add results" in capsys.readouterr().err
    assert out.read_text() == text


def test_an_experiment_checks_its_settings():
    with pytest.raises(HandloomError, match="layers=0"):
        Experiment(layers=0)


# What the page says


def stored():
    return json.loads((DOCS / "wagner.json").read_text())


def words_of(page):
    """The text of a page without its line breaks."""
    return " ".join((DOCS / page).read_text().split())


def label(settings):
    attempted = "symmetric" if settings["symmetry"] == ALL else "any"
    return f"`{settings['tokens']}`, {attempted}{', smaller n too' if settings['with_smaller'] else ''}"


def shown(stats):
    return [f"{stats['mean']:.1f}", f"{stats['median']:g}", f"{stats['top_fifth']:.1f}", f"{stats['max']}"]


def rows_of(page):
    """The rows of tables, each a tuple of cells."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


def test_the_stored_results_agree_with_themselves_and_their_best_are_legal():
    for result in stored():
        sampled, problem = result["sampled"], isosceles(result["settings"]["n"])
        for stats in (sampled["scores"], sampled["points"], result["attempts"], result["by_chance"]):
            scores = [int(score) for score, count in stats["histogram"].items() for _ in range(count)]
            assert {**statistics_of(scores), "mean": pytest.approx(stats["mean"])} == stats
        assert sampled["scores"]["count"] == result["settings"]["samples"]
        assert sampled["scores"]["histogram"].get("-10", 0) == sampled["malformed"]
        assert verdict(problem, problem.space.read(sampled["best"])).score == sampled["scores"]["max"]


def test_the_page_says_what_the_stored_results_say():
    """Every row that is measured stands in the tables, and there is no other besides the talk's."""
    wanted = set()
    for result in stored():
        s, sampled = result["settings"], result["sampled"]
        steps, attempted = f"{s['steps']:,}", label({**s, "with_smaller": False}).split(", ")[1]
        wanted.add((f"attempts, {attempted}", "points", "", *shown(result["attempts"])))
        wanted.add((f"by chance, {attempted}", "legal part", "", *shown(result["by_chance"])))
        wanted.add((label(s), "points", steps, *shown(sampled["points"])))
        wanted.add((label(s), "legal part", steps, *shown(sampled["scores"])))
        shares = [f"{sampled[what] / s['samples']:.1%}".replace("%", " %") for what in ("malformed", "legal", "new")]
        well_formed = sampled["scores"]["mean"] * s["samples"] - MALFORMED * sampled["malformed"]
        mean = f"{well_formed / (s['samples'] - sampled['malformed']):.1f}"
        wanted.add(
            (label(s), steps, mean, *shares, str(sampled["legal_and_new"]), str(sampled["largest_legal"] or "none"))
        )
    rows = rows_of((DOCS / "wagner.md").read_text())
    measured = {row for row in rows if row[0].startswith(("attempts", "by chance", "`"))}
    assert len(wanted) >= 8
    assert measured == wanted


def test_the_page_says_what_came_of_more_attempts_and_more_steps():
    (result,) = json.loads((DOCS / "wagner-100k.json").read_text())
    sampled, text = result["sampled"], words_of("wagner.md")
    assert (result["settings"]["count"], result["settings"]["steps"]) == (100_000, 60_000)
    assert (
        f"of 1,000 strings {sampled['malformed']} are malformed, {sampled['legal']} legal, "
        f"{sampled['legal_and_new']} legal and new, and the largest legal one has {sampled['largest_legal']} points"
    ) in text
    assert verdict(isosceles(16), isosceles(16).space.read(sampled["best"])).score == sampled["scores"]["max"]


def odd_share(stats):
    counts = {int(score): count for score, count in stats["histogram"].items() if int(score) > 0}
    return f"{sum(count for score, count in counts.items() if score % 2) / sum(counts.values()):.1%}".replace("%", " %")


def test_the_page_says_how_many_sizes_are_odd():
    (result,) = [r for r in stored() if label(r["settings"]) == "`sparse`, symmetric"]
    attempted, sampled = odd_share(result["attempts"]), odd_share(result["sampled"]["points"])
    text = words_of("wagner.md")
    assert re.search(rf"symmetric attempts {attempted} have an odd number of points, [^;.]* {sampled};", text)


def test_the_figures_are_drawn_from_the_stored_results():
    results = stored()
    drawn = re.findall(r"\]\((wagner-(\w+)-(\w+)\.svg)\)", (DOCS / "wagner.md").read_text())
    assert drawn
    for file, tokens, symmetry in drawn:
        same = [r for r in results if (r["settings"]["tokens"], r["settings"]["symmetry"]) == (tokens, symmetry)]
        assert (DOCS / file).read_text() == wagner_figure(same), f"{file} is old"
