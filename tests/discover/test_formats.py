"""graph6 and Sage: what other programs read, and what comes back from them."""

import json
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import handloom, output
from handloom import HandloomError
from handloom.discover import graph, grid, permutation, subsets, word
from handloom.discover.catalogue import problem_named
from handloom.discover.records.exchange import constructions, written_in
from handloom.discover.records.graph6 import edges_in, graph6
from handloom.discover.records.sage import as_sage, sage_file, sage_values
from handloom.discover.records.store import Store

CYCLE = "0 1\n1 2\n2 3\n3 4\n0 4\n"  # of five: no four-cycle


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(output, "records", cwd=tmp_path)


def random_edges(vertices, seed):
    rng = random.Random(seed)
    share = rng.choice([0, 0.1, 0.5, 1])
    return [(u, v) for v in range(vertices) for u in range(v) if rng.random() < share]


# graph6


@pytest.mark.parametrize(
    ("size", "start"),
    [(5, "D"), (62, "}"), (63, "~??~"), (12345, "~B?x")],
    ids=str,
)
def test_sizes_are_written_as_in_the_specification(size, start):
    line = graph6(size, []) if size < 100 else None
    assert line is None or line.startswith(start)
    from handloom.discover.records.graph6 import size_as_sixes, size_in

    assert "".join(chr(63 + six) for six in size_as_sixes(size)) == start
    assert size_in("", [ord(letter) - 63 for letter in start]) == (size, [])


def test_the_largest_example_of_the_specification_has_its_size():
    from handloom.discover.records.graph6 import size_as_sixes

    assert "".join(chr(63 + six) for six in size_as_sixes(460175067)) == "~~?ZZZZZ"


@given(st.integers(0, 80), st.integers(0, 10**6))
def test_networkx_reads_what_we_write_and_we_read_what_it_writes(vertices, seed):
    networkx = pytest.importorskip("networkx")
    edges = random_edges(vertices, seed)
    theirs = networkx.empty_graph(vertices)
    theirs.add_edges_from(edges)
    read = networkx.from_graph6_bytes(graph6(vertices, edges).encode())
    assert (set(read), {tuple(sorted(edge)) for edge in read.edges}) == (set(range(vertices)), set(edges))
    assert edges_in(networkx.to_graph6_bytes(theirs).decode()) == (vertices, edges)


@pytest.mark.parametrize("line", ["", ":Fa@x^", "D Qc", "DQ", "DQcc", "~", "~?", "~~???", "D\x7fc"])
def test_what_is_not_graph6_is_told_in_one_line(line):
    with pytest.raises(HandloomError, match="graph6"):
        edges_in(line)


def test_a_graph_goes_out_as_graph6_and_comes_back(run, tmp_path):
    (tmp_path / "five.txt").write_text(CYCLE)
    run("four-cycle-free:n=5", "--import", "five.txt")
    run("four-cycle-free:n=5", "--export", "five.g6")
    assert edges_in((tmp_path / "five.g6").read_text())[1] == [(0, 1), (1, 2), (2, 3), (0, 4), (3, 4)]
    assert "kept 1" in run("four-cycle-free:n=5", "--store", "new.sqlite", "--import", "five.g6")
    assert Store.open("new.sqlite").best("four-cycle-free:n=5").score == 5
    assert "a graph on 5 vertices" in run("four-cycle-free:n=6", "--import", "five.g6", code=2)
    assert "names no problem" in run("--import", "five.g6", code=2)
    (tmp_path / "p.txt").write_text("0 0\n")
    run("isosceles:n=3", "--import", "p.txt")
    assert "are not graphs: grid" in run("isosceles", "--export", "p.g6", code=2)


def test_an_adjacency_matrix_is_a_graph(run, tmp_path):
    (tmp_path / "m.txt").write_text("0 1 0\n1 0 1\n0 1 0\n\n[0, 0, 0]\n[0, 0, 1]\n[0, 1, 0]\n")
    found = json.loads(run("triangle-free:n=3", "--import", "m.txt", "--json"))
    assert [one["construction"] for one in found] == [[[0, 1], [1, 2]], [[1, 2]]]
    (tmp_path / "m.txt").write_text("0 1 0\n0 0 1\n0 1 0\n")
    assert "must be symmetric" in run("triangle-free:n=3", "--import", "m.txt", code=2)


# Sage

SPACES = [graph(6), grid(3, 4), grid(2, 2, 2), grid(5), subsets(range(9)), subsets([(0, 5), (1, 2)])]
SPACES += [word(5, "ab'\"\\"), permutation(5)]


@given(st.sampled_from(SPACES), st.integers(0, 10**6), st.integers(1, 3))
def test_a_sage_file_comes_back_as_it_was(tmp_path_factory, space, seed, count):
    rng = random.Random(seed)
    chosen = [some(space, rng) for _ in range(count)]
    path = tmp_path_factory.getbasetemp() / "all.sage"
    path.write_text(sage_file([(f"problem: p:n={i}", as_sage(space.shown(c), space)) for i, c in enumerate(chosen)]))
    found = written_in(path)
    assert [written.problem for written in found] == [f"p:n={i}" for i in range(count)]
    assert [constructions(space, written) for written in found] == [[c] for c in chosen]


def some(space, rng):
    if space.kind == "word":
        return tuple(rng.randrange(len(space.elements)) for _ in range(space.length))
    if space.kind == "permutation":
        return tuple(rng.sample(range(space.length), space.length))
    return tuple(sorted(rng.sample(range(len(space.elements)), rng.randrange(len(space.elements) + 1))))


@pytest.mark.parametrize(
    "text",
    [
        "G = Graph([(0, 1), (2, 1)])",
        "Graph({0: [1], 1: [0, 2], 2: [1]})",
        "Graph([[0, 1, 2], [(0, 1, None), (1, 2, None)]])",
        "Graph('Bg')",
        "best = [[0, 1], [1, 2]]",
        "[(0, 1), (1, 2)]",
        "# by hand\n[[(0, 1), (1, 2)]]",
    ],
)
def test_a_graph_is_read_as_sage_users_write_it(tmp_path, text):
    (tmp_path / "a.sage").write_text(text)
    found = [one for written in written_in(tmp_path / "a.sage") for one in constructions(graph(3), written)]
    assert [graph(3).shown(one) for one in found] == [[[0, 1], [1, 2]]]


@pytest.mark.parametrize("text", ["", "import os", "Graph(x)", "os.system('ls')", "[(0, 1)", "graphs.PetersenGraph()"])
def test_a_sage_file_is_not_run_and_anything_but_literals_is_refused(text):
    with pytest.raises(HandloomError, match=r"read|list"):
        sage_values(text)


def test_records_of_several_problems_go_through_one_sage_file(run, tmp_path):
    (tmp_path / "five.txt").write_text(CYCLE)
    run("four-cycle-free:n=5", "--import", "five.txt")
    (tmp_path / "points.txt").write_text("0 0\n0 1\n1 0\n")
    assert "refused" in run("isosceles:n=3", "--import", "points.txt", code=2)
    (tmp_path / "points.txt").write_text("0 0\n0 1\n1 2\n")
    run("isosceles:n=3", "--import", "points.txt")
    run("--all", "--export", "all.sage")
    assert "Graph([[0, 1, 2, 3, 4], [(0, 1), (0, 4), (1, 2), (2, 3), (3, 4)]]" in (tmp_path / "all.sage").read_text()
    assert "kept 2" in run("--store", "new.sqlite", "--import", "all.sage")


def test_the_help_names_the_formats(tmp_path):
    told = handloom("records", "--help", cwd=tmp_path).stdout
    assert ".g6" in told
    assert ".sage" in told
    assert problem_named("four-cycle-free:n=20").space.kind == "graph"
