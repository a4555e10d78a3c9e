"""Tasks know their inputs, certificates say the truth: what is right is certified, what is wrong is found."""

import dataclasses

import numpy as np
import pytest

from handloom.core import Config, HandloomError, Model, Vocab, generate, params
from handloom.tasks import Task, certify, task, task_of
from handloom.tasks.extremes import minimum
from handloom.tasks.sums import addition
from handloom.write import PROGRAMS, program
from programs import BY_NAME


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_task_takes_its_own_inputs(name):
    chosen = task(name)
    rng = np.random.default_rng(0)
    for ids in [*(chosen.draw(rng) for _ in range(50)), *chosen.hard()]:
        assert chosen.oracle(ids), chosen.vocab.decode(ids)
    chosen.check(chosen.example())
    assert chosen.vocab == program(name).vocab


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_right_on_its_task(name):
    model = program(name)
    certificate = certify(model, samples=300)
    assert certificate.method == "sampled"
    if not BY_NAME[name].tied or certificate.right:  # else the processor has rounded a tie the other way
        assert certificate.right == (not BY_NAME[name].wrong), certificate
    else:
        assert certificate.ties >= certificate.wrong, certificate


@pytest.mark.parametrize(("name", "count"), [("min:n=4", 340), ("book/addition:digits=1", 100), ("hello", 13)])
def test_exhaustive_means_every_input_once(name, count):
    chosen = task(name)
    assert chosen.count == count
    assert len({tuple(ids) for ids in chosen.every()}) == count
    certificate = certify(program(name))
    assert (certificate.method, certificate.inputs, certificate.right) == ("exhaustive", count, True)


def test_the_margin_is_the_smallest_lead_of_a_right_token():
    model = program("min:n=4")
    leads = []
    for ids in task_of(model).every():
        logits = np.sort(model_logits(model, ids))
        leads.append(logits[-1] - logits[-2])
    assert certify(model).margin == pytest.approx(min(leads), rel=1e-9)


def model_logits(model, ids):
    from handloom.core import reference

    return reference.forward(model, ids)[0][-1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_wrong_is_counted_and_the_first_is_shown(dtype):
    """A min that takes 2 for 1 is run to the end, and wrong where greedy decoding is."""
    right = program("min:n=4")
    weights = {**right.params, "W_E": right.params["W_E"].copy()}
    weights["W_E"][[1, 2]] = weights["W_E"][[2, 1]]
    swapped, asked = Model(right.config, weights, right.vocab), list(minimum(4).every())
    wrong = sum(
        new != minimum(4).oracle(ids) for ids, new in zip(asked, generate(swapped, asked, steps=1), strict=True)
    )
    certificate = certify(swapped, minimum(4), dtype=dtype)
    assert (certificate.right, certificate.inputs, certificate.wrong) == (False, 340, wrong)
    assert certificate.dtype == dtype
    assert certificate.margin < 0
    given, output, expected = certificate.counterexample
    assert minimum(4).answer(given) == expected != output
    shown = (
        f"WRONG on {wrong} of 340 inputs (exhaustive), {dtype}: {given!r} gave {output!r}, and right is {expected!r}"
    )
    assert str(certificate) == shown
    assert {"method", "inputs", "right", "margin", "dtype"} <= set(certificate.to_json())


def three_tokens(ones, twos):
    """A model that gives these logits to the tokens 1 and 2 after a 0."""
    config = Config(vocab=3, block=2, d_model=3, tied=False, norm="none", biases=())
    weights = params.zeros(config)
    weights["W_E"][:], weights["W_U"][0] = np.eye(3), [0, ones, twos]
    return Model(config, weights, Vocab.numbers(3))


def always(answer):
    return Task("0", Vocab.numbers(3), lambda ids: [answer], lambda rng: [0], 1, lambda: [[0]])


def test_a_tie_is_decided_as_greedy_decoding_does_and_the_certificate_says_so():
    model = three_tokens(1.0, 1.0)
    for answer, right in ((1, True), (2, False)):
        certificate = certify(model, always(answer))
        assert (certificate.right, certificate.margin, certificate.ties) == (right, 0.0, 1)
        assert (generate(model, [[0]], steps=1) == [[answer]]) == right
    assert str(certify(model, always(1))) == "right on all 1 inputs by ties (exhaustive), float64, smallest margin 0"


@pytest.mark.parametrize(("dtype", "eps"), [("float64", 2.0**-52), ("float32", 2.0**-23)])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_margin_that_rounding_can_make_is_a_tie_at_any_size_of_the_logits(dtype, eps, size):
    ties = {lead: certify(three_tokens(size * (1 + lead * eps), size), always(1), dtype).ties for lead in (0, 2, 16)}
    assert ties == {0: 1, 2: 1, 16: 0}


def test_the_books_sort_is_right_by_ties_only_and_ours_is_not():
    assert certify("book/sort", samples=60).ties > 0
    assert certify("sort", samples=60).ties == 0


def test_hard_cases_come_first_and_sampled_does_not_say_all():
    asked = []
    chosen = minimum(4)
    spying = Task(chosen.takes, chosen.vocab, lambda ids: asked.append(ids) or chosen.oracle(ids), chosen.draw,
                  chosen.count, chosen.every, lambda: iter([[3], [2, 3]]))  # fmt: skip
    certificate = certify(program("min:n=4"), spying, samples=5)
    assert asked[:2] == [[3], [2, 3]]
    assert certificate.inputs == 5
    assert str(certificate).startswith("right on 5 sampled inputs (sampled), float64")


def own(**changes):
    """A user's task that `min:n=4` is right on, with something changed."""
    return dataclasses.replace(minimum(4), **changes)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"draw": lambda rng: None}, "an input of the task must be a list of token ids, and it gave None"),
        ({"draw": lambda rng: "ab"}, "must be a list of token ids, and it gave 'ab'"),
        ({"draw": lambda rng: 1 / 0}, "could not make its inputs: .* raised ZeroDivisionError"),
        ({"hard": lambda: 1 / 0}, "could not make its inputs: .* raised ZeroDivisionError"),
        ({"every": lambda: 1 / 0}, "could not make its inputs: .* raised ZeroDivisionError"),
        ({"every": lambda: iter(())}, "count is 340 inputs, and it gave 0; correct its count"),
        ({"every": lambda: [[1]] * 341}, "count is 340 inputs, and it gave 341"),
        ({"count": "x"}, "the task's count='x' must be a whole number"),
        ({"count": 0}, "the task's count=0 must be a whole number of at least 1"),
        ({"oracle": lambda ids: [9]}, "lists of token ids from 0 to 3"),
        ({"oracle": lambda ids: [-1]}, "lists of token ids from 0 to 3"),
        ({"oracle": lambda ids: ["1"]}, "lists of token ids from 0 to 3"),
        ({"oracle": lambda ids: "ab"}, "an answer must be a list of token ids"),
        ({"oracle": lambda ids: 5}, "an answer must be a list of token ids"),
        ({"oracle": lambda ids: 1 / 0}, "could not answer .*: .* raised ZeroDivisionError"),
        ({"oracle": lambda ids: None}, "an answer must be a list of token ids"),
    ],
)
def test_what_is_wrong_with_a_users_task_is_told_and_nothing_is_certified(changes, complaint):
    ways = [{"samples": 20}] if "draw" in changes else [{}] if "every" in changes else [{}, {"samples": 500}]
    hard = {} if "hard" in changes else {"hard": tuple}
    for how in ways:
        with pytest.raises(HandloomError, match=complaint):
            certify(program("min:n=4"), own(**hard | changes), **how)


def test_a_question_that_does_not_fit_is_known_before_all_others_are_tried():
    asked = []
    long = own(every=lambda: asked.append(1) or iter(()), hard=lambda: [[1] * 9], oracle=lambda ids: [1])
    with pytest.raises(HandloomError, match=r"the model's block holds \d+ tokens, and a question .* takes 9"):
        certify(program("min:n=4"), long)
    assert not asked


def test_what_a_model_says_is_told_as_far_as_it_says_it_by_itself():
    """A model that always says 1 is asked for 1 0 2: from the second token on it was fed what is right."""
    config = Config(vocab=3, block=4, d_model=3, tied=False, norm="none", biases=())
    weights = params.zeros(config)
    weights["W_E"][:], weights["W_U"][:, 1] = np.eye(3), 1.0
    ask = Task("0", Vocab.numbers(3), lambda ids: [1, 0, 2], lambda rng: [0], 1, lambda: [[0]])
    certificate = certify(Model(config, weights, Vocab.numbers(3)), ask)
    assert certificate.counterexample == ("0", "1 1…", "1 0 2")


def bare(model, **notes):
    """The model with these notes only."""
    return Model(model.config, model.params, model.vocab, notes)


def test_one_seed_one_certificate():
    model = program("book/addition:digits=2")
    assert certify(model, samples=50, seed=3) == certify(model, samples=50, seed=3)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: certify(bare(program("hello"))), "name no task, so that it is not known"),
        (lambda: certify(program("min:n=4"), minimum(5)), "the model's tokens are not the task's"),
        (lambda: certify(program("min"), dtype="float16"), "dtype='float16' must be float32 or float64"),
        (lambda: certify(program("min"), samples=0), "samples=0"),
        (
            lambda: addition(3).check("12+345="),
            "this takes two numbers of 3 digits each, such as 045.078=; it was given",
        ),
        (lambda: addition(3).check("1x2+345="), "this takes two numbers of 3 digits each"),
        (lambda: minimum(20).answer(""), "this takes 1 to 20 numbers from 0 to 19"),
    ],
)
def test_what_cannot_be_certified_is_refused(make, complaint):
    with pytest.raises(HandloomError, match=complaint):
        make()


@pytest.mark.parametrize(
    "notes",
    [
        {"program": "min", "parameters": "n=5"},
        {"program": ["min"]},
        {"program": "no"},
        {},
        {"program": "min", "parameters": {"m": 5}},
        {"task": ["min"]},
    ],
)
def test_notes_that_name_no_task_have_none(notes):
    assert task_of(bare(program("min"), **notes)) is None


@pytest.mark.parametrize(
    ("notes", "complaint"),
    [
        ({"task": "min:n=1000000000000"}, "the task that the model's notes name: n=1000000000000"),
        ({"program": "min", "parameters": {"n": 10**12}}, "the task that the model's notes name: n=1000000000000"),
        ({"task": "min:m=5"}, "min has no parameter 'm'"),
        ({"task": "mine.py:n=5"}, "no task and no file 'mine.py:n=5' is here or beside the model; name the task"),
        ({"task": "/bin/sh"}, "no task and no file '/bin/sh'"),
        ({"task": "../x.py"}, "no task and no file"),
        ({"task": "discover/isosceles:n=10"}, "'isosceles:n=10' is a problem of discovery, .* have scores"),
    ],
)
def test_a_task_that_is_noted_and_cannot_be_had_is_told_in_one_line(notes, complaint):
    model = bare(program("min"), **notes)
    for ask in (task_of, certify):
        with pytest.raises(HandloomError, match=complaint) as error:
            ask(model)
        assert "\n" not in str(error.value)
    assert model("3 2 4", steps=1) == "2"  # nobody to ask, and so any text is taken
