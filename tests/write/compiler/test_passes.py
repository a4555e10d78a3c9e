"""The passes of the compiler, each alone: what it gives is checked against what it was given."""

import importlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import handloom as hl
from handloom.language import (
    END,
    apply,
    at,
    choose,
    count,
    find,
    latest,
    mean,
    number,
    position,
    program,
    there,
    token,
)
from handloom.write.compiler.arrange import arranged, arrangements, size_of
from handloom.write.compiler.codes import on_a_circle, on_a_parabola
from handloom.write.compiler.compile import LEAST_MARGIN, emitted_plan, plans, preference
from handloom.write.compiler.fuse import fused
from handloom.write.compiler.hinges import fewest_hinges, with_a_linear_part
from handloom.write.compiler.inplace import shareable
from handloom.write.compiler.interpreter import ProgramRun
from handloom.write.compiler.layering import load, reads_of, scheduled, schedules, writes_of
from handloom.write.compiler.levels import STEP, picking
from handloom.write.compiler.lowered import PLANE, Column, HeadPart, Lowered, NeuronPart
from handloom.write.compiler.merge import merged
from handloom.write.compiler.place import placed
from handloom.write.compiler.ranges import ranges_of
from handloom.write.compiler.rewrite import rewritten
from handloom.write.compiler.values import At, Line, Map, Select
from handloom.write.standard import STANDARD, standard

TOKENS = ("0", "1", "2", "a", ">", END)
HERE = Line("here.py", 1, "")


def small(name):
    return standard(name, **STANDARD[name].small)


# ranges


@pytest.mark.parametrize("name", ["histogram", "parity", "palindrome", "increment", "dyck-1", "rank"])
def test_a_range_lacks_no_value_that_occurs(name):
    known = small(name)
    for word in list(known.asked.words())[::7]:
        for value, column in known.run(word).columns.items():
            assert set(column) <= {*known.ranges.values[value], known.ranges.at_first[value]}


def test_the_range_of_a_mean_has_all_fractions_of_so_many_positions():
    share = mean(token == "a")
    assert set(ranges_of(share, TOKENS, 4).values[share]) == {0, 1, Fraction(1, 2), Fraction(1, 3), Fraction(2, 3)}


def test_a_function_has_no_cases_where_it_gives_none():
    half = apply(lambda n: n // 2 if n % 2 == 0 else None, number(token))
    assert set(ranges_of(half, TOKENS, 4).values[half]) == {0, 1}


def means_of(answer, n):
    known = program(asks=f"[ab]{{1,{n}}}", steps=1)(lambda: answer).ranges
    return {value: known.values[value] for value in known.values if isinstance(value, Select)}


def test_of_a_mean_with_many_values_whose_sign_alone_is_used_the_ends_are_known():
    step = apply(lambda text: {"a": 1, "b": -1}.get(text, 0), token)
    (found,) = means_of(choose(mean(step) > 0, "a", "b"), 127).values()
    assert found == (-1, Fraction(-1, 128), 0, Fraction(1, 128), 1)
    (found,) = means_of(choose(mean(step) > 0, "a", "b"), 40).values()
    assert len(found) > 900


def test_a_mean_that_is_used_in_another_way_too_has_all_its_values():
    step = apply(lambda text: {"a": 1, "b": -1}.get(text, 0), token)
    balance = mean(step)
    with pytest.raises(hl.HandloomError, match="more than 8,192 values"):
        means_of(choose((balance > 0) & (2 * balance < 1), "a", "b"), 127)
    with pytest.raises(hl.HandloomError, match="more than 8,192 values"):
        means_of(balance, 127)


# rewrite


def fetched_digit():
    digit = apply(lambda text: int(text) + 1 if text.isdecimal() else 0, at(position - 1))
    return apply(lambda number: number % 3, digit)


def test_a_function_of_what_is_fetched_is_computed_before_it_is():
    before = fetched_digit()
    after = rewritten(before, ranges_of(before, TOKENS, 5))
    assert isinstance(before, Map)
    assert isinstance(after, At)
    assert isinstance(after.value, Map)


@pytest.mark.parametrize("make", [fetched_digit, lambda: latest(token, where=there(number(token)) == number(token))])
def test_a_rewritten_graph_computes_the_same(make):
    before = make()
    after = rewritten(before, ranges_of(before, TOKENS, 6))
    runs = [ProgramRun(answer) for answer in (before, after)]
    for text in (END, "2", "a", "2", "1", "2"):
        first, second = (run.append(text) for run in runs)
        assert first == second


def test_two_values_that_are_compared_lie_on_a_line():
    flag = apply(lambda text: int(text == "a"), token)
    same = latest(token, where=there(flag) == flag)
    ((there_points, _, count_),) = rewritten(same, ranges_of(same, TOKENS, 5)).where.circles
    after = ranges_of(there_points[1], TOKENS, 5)
    assert count_ == 2
    assert set(after.values[there_points[1]]) == {0}


# fuse


def test_a_function_of_a_function_becomes_one_and_gives_the_same():
    last = at(position - 1, number(token))
    whole = choose(apply(lambda x, y: int(x + y > 2), number(token), last), "a", END)
    ranges = ranges_of(whole, TOKENS, 5)
    one = fused(whole, ranges, on_a_circle(TOKENS, ()))
    assert not any(argument is last for argument in whole.arguments)
    assert any(argument is last for argument in one.arguments)
    runs = [ProgramRun(answer) for answer in (whole, one)]
    for text in (END, "2", "1", "2", "0", "1"):
        assert len({run.append(text) for run in runs}) == 1


# codes and levels


@pytest.mark.parametrize("code", [on_a_circle, on_a_parabola])
@pytest.mark.parametrize("beside", [(), (">",), (">", "a")])
def test_every_token_lies_above_all_others_in_some_direction(code, beside):
    codes = code(TOKENS, beside)
    assert all(picking(codes, name)[1] > 0.01 for name in TOKENS)
    assert codes.least_margin() > 0


def test_a_number_on_the_parabola_is_answered_in_proportion():
    codes = on_a_parabola(TOKENS, (">",))
    steps = np.diff([codes.answer(digit) for digit in "012"], axis=0)
    assert np.allclose(steps[0], steps[1])
    assert codes.straight == {"0", "1", "2", END}
    for name in codes.straight:
        assert np.allclose(codes[name] * codes.turn + codes.shift, codes.answer(name))


def test_letters_above_the_parabola_stand_out_more_than_in_one_row_with_the_digits():
    tokens = (*"0123456789abcdefghijklmnopqr*=>", END)
    assert on_a_parabola(tokens, ("*", "=")).relative_margin() > 2 * LEAST_MARGIN > 5 * (4 / 3 / len(tokens) ** 2)


def test_the_compiler_takes_another_code_where_answers_hardly_stand_out():
    def far():
        return apply(lambda t: 3 * t, position)

    known = program(asks="a{1,40}", steps=1)(far)
    circle, parabola = plans(known)
    sizes = [hl.count(emitted_plan(known, plan)).total for plan in (circle, parabola)]
    assert sizes[1] < sizes[0]
    assert parabola.codes.relative_margin() < LEAST_MARGIN <= circle.codes.relative_margin()
    assert preference(circle, emitted_plan(known, circle)) < preference(parabola, emitted_plan(known, parabola))
    assert hl.count(hl.compile(known)).total == sizes[0]


def test_scores_of_found_positions_are_a_step_above_those_of_others():
    known = program(asks="[ab]{1,4}>", steps=1)(lambda: choose(find(">") > 2, "a", "b"))
    (plan,) = plans(known)
    (query, key), *_ = plan.layers[0].heads[0].looks
    points = dict(zip(plan.codes.tokens, plan.codes.points, strict=True))
    scores = {name: sum(key[PLANE[i]] * points[name][i] for i in (0, 1)) * query["one"] for name in points}
    assert scores[">"] >= scores[END] + STEP - 1e-9
    assert scores[END] >= max(scores["a"], scores["b"]) + STEP - 1e-9


# hinges

POINTS = st.lists(st.tuples(st.integers(-4, 4), st.integers(-3, 3)), min_size=1, max_size=9, unique_by=lambda p: p[0])


@given(POINTS)
def test_hinges_give_every_function_of_one_number(points):
    x, y = (np.array(column, float)[:, None] for column in zip(*points, strict=True))
    for search in (fewest_hinges, with_a_linear_part):
        hinged = search(x, y)
        assert np.allclose(hinged(x), y)
        assert len(hinged.at) <= max(len(points) - 1, 0) + 1


@pytest.mark.parametrize(
    ("function", "neurons"),
    [(lambda x, y: x and y, 1), (lambda x, y: x ^ y, 2), (lambda x, y: x + y, 1), (lambda x, y: 3, 0)],
)
def test_small_functions_take_as_few_neurons_as_known(function, neurons):
    cases = np.array([(x, y) for x in (0, 1) for y in (0, 1)], float)
    values = np.array([[function(int(x), int(y))] for x, y in cases], float)
    hinged = fewest_hinges(cases, values)
    assert len(hinged.at) <= neurons
    assert np.allclose(hinged(cases), values)


def test_neurons_begin_from_the_flat_segment_where_fewest_are_on_at_once():
    steps = np.repeat(np.arange(9.0), 3)[:, None]
    hinged = fewest_hinges(np.arange(27.0)[:, None], steps)
    on = hinged.side * (np.arange(27.0)[:, None] - hinged.at) > 0
    assert on.sum(1).max() == 8  # of 16, on either side of the middle
    assert np.allclose(hinged(np.arange(27.0)[:, None]), steps)


# scheduling


def chain() -> Lowered:
    """Two heads that read the position; a neuron reads the first, and the answer both."""
    heads = [HeadPart((), HERE, [({"p": 1.0}, {name: 1.0})]) for name in ("x", "y")]
    neuron = NeuronPart([({"x": 1.0}, {"z": 1.0})], HERE)
    late = HeadPart((), HERE, [({"z": 1.0}, {"w": 1.0})])
    answer = NeuronPart([({"w": 1.0, "y": 1.0}, {PLANE[0]: 9.0})], HERE)
    return Lowered(
        {"p": Column("position", (0.0, 1.0))}, dict.fromkeys("pxyzw", (0.0, 1.0)), [*heads, neuron, late, answer]
    )


def check_order(lowered, layers):
    known = {*lowered.columns, *PLANE, "one"}
    parts = [part for layer in layers for half in (layer.heads, layer.neurons) for part in half]
    assert {*map(id, parts)} == {*map(id, lowered.parts)}
    for layer in layers:
        for half in (layer.heads, layer.neurons):
            assert all(reads_of(part) <= known for part in half)
            known |= {name for part in half for name in writes_of(part)}


def test_every_part_comes_when_what_it_reads_is_known():
    lowered = chain()
    layers = scheduled(lowered)
    check_order(lowered, layers)
    assert [(len(layer.heads), len(layer.neurons)) for layer in layers] == [(2, 1), (1, 1)]


def test_the_earliest_schedule_is_the_first_unless_another_has_smaller_layers():
    lowered = chain()
    every = list(schedules(lowered, 10))
    assert [[len(layer.heads) for layer in layers] for layers in every] == [[2, 1], [1, 2]]
    for layers in every:
        check_order(lowered, layers)


def test_a_part_that_can_wait_is_moved_to_a_layer_with_room():
    lowered = chain()
    lowered.parts.insert(0, HeadPart((), HERE, [({"p": 1.0}, {"v": 1.0})]))
    lowered.bounds["v"] = (0.0, 1.0)
    lowered.parts[-1].rows.append(({"v": 1.0}, {PLANE[1]: 1.0}))
    heads = [[len(layer.heads) for layer in layers] for layers in schedules(lowered, 10)]
    assert heads[0] == [3, 1]
    assert [2, 2] in heads[1:3]
    assert load(lowered.parts, (0, 0, 0, 1, 2, 3), 1) > load(lowered.parts, (2, 0, 0, 1, 2, 3), 1)


def test_in_no_schedule_a_part_reads_what_its_own_half_layer_writes():
    names = [("p", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("p", "x"), ("x", "y")]
    neurons = {"b", "d"}
    parts = [
        NeuronPart([({old: 1.0}, {new: 1.0})], HERE)
        if new in neurons
        else HeadPart((), HERE, [({old: 1.0}, {new: 1.0})])
        for old, new in names
    ]
    answer = NeuronPart([({"e": 1.0, "y": 1.0}, {PLANE[0]: 1.0})], HERE)
    lowered = Lowered({"p": Column("position", (0.0, 1.0))}, dict.fromkeys("pabcdexy", (0.0, 1.0)), [*parts, answer])
    every = list(schedules(lowered, 10))
    assert len(every) == 3  # x in layer 0 or 1, and y behind it
    for layers in every:
        check_order(lowered, layers)


# merge


def test_numbers_that_are_always_read_together_become_one():
    first = NeuronPart([({"p": 1.0}, {"x": 1.0})], HERE)
    second = HeadPart((), HERE, [({"p": 1.0}, {"y": 1.0})])
    answer = NeuronPart([({"x": 2.0, "y": 6.0}, {PLANE[0]: 1.0})], HERE)
    bounds = dict.fromkeys("pxy", (-1.0, 1.0))
    lowered = Lowered({"p": Column("position", (0.0, 1.0))}, bounds, [first, second, answer])
    whole, layers = merged(lowered, scheduled(lowered))
    assert whole.bounds.keys() < lowered.bounds.keys()
    (kept,) = whole.bounds.keys() - {"p"}
    factor = 3.0 if kept == "x" else 1 / 3
    assert whole.bounds[kept] == pytest.approx((-1 - factor, 1 + factor))
    assert all(reads_of(part) <= {"p", kept} for layer in layers for part in layer.neurons)
    assert {"x", "y"} <= lowered.bounds.keys()  # what was given is as it was
    assert answer.rows[0][0] == {"x": 2.0, "y": 6.0}


@pytest.mark.parametrize("other", [{"x": 1.0}, {"x": 2.0, "y": 5.0}])
def test_numbers_that_are_also_read_otherwise_stay_apart(other):
    rows = [({"x": 2.0, "y": 6.0}, {PLANE[0]: 1.0}), (other, {PLANE[1]: 1.0})]
    parts = [
        HeadPart((), HERE, [({"p": 1.0}, {"x": 1.0})]),
        HeadPart((), HERE, [({"p": 1.0}, {"y": 1.0})]),
        NeuronPart(rows, HERE),
    ]
    lowered = Lowered({"p": Column("position", (0.0, 1.0))}, dict.fromkeys("pxy", (0.0, 1.0)), parts)
    assert merged(lowered, scheduled(lowered))[0].bounds == lowered.bounds


# place


def check_places(lowered, layers, places):
    """No number is written into a dimension while another one in it is still read, unless that was cleared."""
    stands: dict[int, str] = {places[name]: name for name in lowered.columns}
    for layer in layers:
        for half in (layer.heads, layer.neurons):
            for part in half:
                assert all(stands[places[name]] == name for name in reads_of(part) & places.keys())
            cleared = {name for part in half for name in reads_of(part) if str(part.line).find("clears") >= 0}
            for name in cleared:
                del stands[places[name]]
            for part in half:
                for name in (writes_of(part) & places.keys()) - cleared:
                    assert stands.setdefault(places[name], name) == name


def test_a_dimension_is_used_again_where_a_neuron_can_clear_it():
    lowered = chain()
    layers = scheduled(lowered)
    apart, plain = placed(lowered, layers, {}, 0)
    shared, cleared = placed(lowered, layers, {}, 1)
    assert len(set(apart.values())) == 5
    assert len(set(shared.values())) == 4
    assert sum(len(part.rows) for part in cleared[0].neurons) == sum(len(part.rows) for part in plain[0].neurons) + 1
    check_places(lowered, plain, apart)
    check_places(lowered, cleared, shared)


def test_a_number_of_both_signs_takes_two_neurons_to_clear():
    lowered = chain()
    lowered.bounds |= dict.fromkeys("px", (-1.0, 1.0))
    layers = scheduled(lowered)
    assert len(set(placed(lowered, layers, {}, 1)[0].values())) == 5
    assert len(set(placed(lowered, layers, {}, 2)[0].values())) == 4


# arrange


@pytest.mark.parametrize(("name", "earliest"), [("addition", 2_506), ("2-hop", 1_332), ("dedupe", 3_084)])
def test_no_other_arrangement_is_smaller_than_that_of_the_model(name, earliest, monkeypatch):
    given_to = []
    compiling = importlib.import_module("handloom.write.compiler.compile")
    monkeypatch.setattr(compiling, "arranged", lambda *given: given_to.append(given) or arranged(*given))
    known = standard(name)
    plan, (lowered, codes, block) = list(plans(known))[-1], given_to[-1]
    every = [size_of(one, len(codes.tokens) + block) for one in arrangements(lowered, codes)]
    assert min(every) == hl.count(emitted_plan(known, plan)).total
    layers = scheduled(lowered)
    whole, layers = merged(lowered, layers)
    plain = placed(whole, layers, shareable(whole, layers, codes))
    assert size_of((whole, plain[1], plain[0]), len(codes.tokens) + block) == earliest > min(every)


def test_counting_and_selecting_graphs_are_scheduled_in_order():
    known = program(asks="[a-c]{1,4}>")(
        lambda: choose(at(position - find(">") + 1) == ">", END, count(there(token) == at(position - find(">") + 1)))
    )
    for plan in plans(known):
        assert isinstance(plan.answer, (Map, Select, At))
        check_places(plan.lowered, plan.layers, plan.places)
