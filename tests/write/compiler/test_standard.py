"""The standard programs, compiled, against plain Python, in float32."""

from dataclasses import replace

import numpy as np
import pytest

import handloom as hl
from handloom.core.engines import choose_engine
from handloom.tasks.certificate import Certificate
from handloom.write.compiler import TokenProgram, compile
from handloom.write.compiler.values import END
from handloom.write.standard import STANDARD, standard
from standard_answers import ANSWERS

LEAST_MARGIN = 0.005  # of the largest logit


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


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_program_is_right_on_many_samples_of_its_default_size(name):
    program = standard(name)
    model = compile(program)
    check(name, hl.certify(model, plain_task(name, program), samples=5_000), model, program)
