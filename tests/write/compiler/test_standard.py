"""The standard programs, compiled, against plain Python, in float32."""

import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import handloom as hl
from handloom.core.engines import choose_engine
from handloom.tasks.certificate import Certificate
from handloom.write import program as program_of
from handloom.write.compiler import TokenProgram, compile
from handloom.write.compiler.compile import LEAST_MARGIN
from handloom.write.compiler.interpreter import ProgramRun
from handloom.write.compiler.values import END
from handloom.write.standard import STANDARD, standard
from handloom.write.standard_sizes import SIZES
from standard_answers import ANSWERS, pointed


def plain_task(name: str, program: TokenProgram):
    """The program's task with plain Python as its oracle."""
    tokens, ids = program.vocab.tokens, program.vocab.ids

    def oracle(prompt: list[int]) -> list[int]:
        answer = ANSWERS[name]("".join(tokens[i] for i in prompt[1:]))
        return [ids[token] for token in [*answer, END][: program.steps]]

    return replace(program.task, oracle=oracle)


def largest_logit(model: hl.Model, program: TokenProgram) -> float:
    """Over the positions of some inputs and their answers."""
    largest, ids = 0.0, model.vocab.ids
    for word in list(dict.fromkeys(program.samples()))[-20:]:
        tokens = [END, *word, *program.answers(word)][: model.config.block]
        logits, _ = choose_engine("reference").forward(model, np.array([[ids[token] for token in tokens]]))
        largest = max(largest, float(np.abs(logits).max()))
    return largest


def check(name: str, certificate: Certificate, model: hl.Model, program: TokenProgram) -> None:
    assert certificate.right, f"{name}: {certificate}"
    assert certificate.dtype == "float32"
    assert certificate.margin >= LEAST_MARGIN * largest_logit(model, program)


def test_every_standard_program_has_an_answer_in_plain_python():
    assert STANDARD.keys() == ANSWERS.keys()


@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_program_is_right_on_all_inputs_of_a_small_size(name):
    program = standard(name, **STANDARD[name].small)
    model = compile(program)
    certificate = hl.certify(model, plain_task(name, program), everything=True)
    assert certificate.method == "exhaustive"
    check(name, certificate, model, program)


@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_program_is_right_on_samples_of_its_default_size(name):
    program = standard(name)
    model = compile(program)
    check(name, hl.certify(model, plain_task(name, program), samples=50), model, program)


@pytest.mark.parametrize("name", STANDARD)
def test_the_interpreter_gives_the_answers_of_plain_python(name):
    program = standard(name)
    for word in [program.asked.draw(np.random.default_rng(seed)) for seed in range(20)]:
        assert program(word) == ANSWERS[name](word)


def test_k_hop_has_one_layer_more_for_twice_as_many_hops():
    assert [compile(standard("k-hop", k=k)).config.layers for k in (1, 2, 4, 8, 16)] == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6])
def test_any_number_of_hops_is_taken(k):
    model = compile(standard("k-hop", n=11, letters=2, k=k))
    rng = np.random.default_rng(k)
    for word in ("".join(rng.choice([*"ab"], size)) for size in range(1, 12)):
        assert model(word) == pointed(word, k)


BARS = {
    "reverse:n=5,letters=4": 300,
    "sort:n=5,digits=4": 950,
    "dyck-1:n=12": 300,
    "histogram:n=5,letters=4": 1_300,
    "most-frequent:n=10,letters=10": 400,
    "induction:n=63,letters=10": 1_000,
    "2-hop:n=63,letters=10": 1_300,
    "parity:n=10": 700,
    "automaton:n=8": 1_300,
    "addition:digits=10": 1_800,
    "scratch-addition:digits=10": 2_880,
    "sort:n=10,digits=10": 3_400,
    "sort-unique:n=5,digits=4": 2_200,
    "shuffle-dyck-2:n=5": 300,
    "frac-prevs:n=5": 1_122,
    "length:n=5": 1_322,
}
DOCS = Path(__file__).parents[3] / "docs" / "sizes.md"


@pytest.mark.parametrize("name", BARS)
def test_a_standard_program_is_as_small_as_it_has_been_and_as_the_docs_have_it(name):
    model = compile(standard(name))
    total = hl.count(model).total
    assert total <= BARS[name]
    documented = dict(re.findall(r"^\| (\S+) \| ([\d,]+) \|", DOCS.read_text(), re.MULTILINE))
    shown = documented[name] if name in documented else documented[name.partition(":")[0]]
    assert shown == f"{total:,}"


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDARD)
def test_the_sizes_that_the_list_shows_are_those_of_the_compiler(name):
    assert tuple(asdict(hl.count(compile(standard(name)))).values()) == SIZES[name]


def test_every_standard_program_is_listed_with_its_size():
    assert SIZES.keys() == STANDARD.keys()


def test_a_standard_program_is_a_model_and_a_task_by_name():
    model = program_of("compiled/reverse:n=3,letters=2")
    assert model("ab>") == "ba"
    assert hl.task("compiled/reverse:n=3,letters=2").answer("ab>") == "ba"
    with pytest.raises(hl.HandloomError, match=r"compiled/reverse"):
        program_of("compiled/revers")


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_program_is_right_on_many_samples_of_its_default_size(name):
    program = standard(name)
    model = compile(program)
    check(name, hl.certify(model, plain_task(name, program), samples=5_000), model, program)


@pytest.mark.parametrize("name", ["reverse", "dedupe", "rank", "dyck-2", "3-hop"])
def test_a_run_that_goes_back_answers_like_a_new_one(name: str) -> None:
    program = standard(name)
    run = ProgramRun(program.answer, program.order)
    for word in list(program.samples())[-100:]:
        assert program.answers(word, run) == program.answers(word)
