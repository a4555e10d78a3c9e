"""Proofs of compiled programs: what is proven is right, by running every input; and what was tampered with is not."""

import json
from importlib import import_module

import numpy as np
import pytest

import handloom as hl
from handloom.language import apply, back, number, program, token
from handloom.write.compiler import compile, ranges, streams
from handloom.write.compiler.proving import prove_compiled
from handloom.write.compiler.rewrite import rewritten
from handloom.write.compiler.stored import KEY
from handloom.write.standard import STANDARD, standard

# sizes with up to 128 positions; counts are exact up to some size, and answers are digits in some programs
LARGE = {
    "hello": {"message": "Hello World! " * 9},
    "copy": {"n": 63},
    "shift": {"n": 63},
    "reverse": {"n": 63},
    "caesar": {"n": 63},
    "induction": {"n": 127},
    "2-hop": {"n": 127},
    "3-hop": {"n": 127},
    "k-hop": {"n": 127},
    "dedupe": {"n": 122},
    "first-occurrence": {"n": 9},
    "length": {"n": 9},
    "histogram": {"n": 9},
    "double-histogram": {"n": 8},
    "most-frequent": {"n": 127},
    "count-less": {"n": 9},
    "rank": {"n": 127},
    "min": {"n": 127},
    "max": {"n": 127},
    "sort": {"n": 63},
    "sort-unique": {"n": 122},
    "frac-prevs": {"n": 127},
    "majority": {"n": 127},
    "count-mod": {"n": 127},
    "is-sorted": {"n": 127},
    "contains-ab": {"n": 127},
    "palindrome": {"n": 83},
    "dyck-1": {"n": 127},
    "shuffle-dyck-2": {"n": 127},
    "dyck-2": {"n": 127},
    "parity": {"n": 63},
    "automaton": {"n": 63},
    "increment": {"n": 62},
    "addition": {"digits": 41},
    "scratch-addition": {"digits": 30},
    "subleq": {"cells": 10, "moves": 9},
    "fibonacci": {"terms": 125},
}


@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_program_is_proven_at_its_default_size(name):
    program = standard(name)
    proof = hl.certify(compile(program))
    assert (proof.method, proof.inputs, proof.right, proof.dtype) == ("proof", program.asked.count, True, "float32")
    assert proof.margin > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_standard_program_is_proven_at_a_large_size(name):
    assert prove_compiled(compile(standard(name, **LARGE[name]))).right


def test_a_program_that_promises_is_run_instead():
    @program(asks="[0-3]{1,3}", steps=1)
    def promises():
        total = number(token) + back(1, number(token))
        return apply(lambda total: total if total < 7 else None, total)

    model = compile(promises)
    with pytest.raises(hl.HandloomError, match="no proof"):
        prove_compiled(model)
    assert hl.certify(model).right


@pytest.mark.parametrize("name", STANDARD)
def test_a_proven_margin_is_at_most_the_one_that_all_inputs_show(name):
    program = standard(name, **STANDARD[name].small)
    model = compile(program)
    shown = hl.certify(model, program.task, everything=True)
    assert shown.right
    assert 0 < prove_compiled(model).margin <= shown.margin * (1 + 1e-4)


@pytest.mark.parametrize(("name", "sizes"), [("reverse", {"n": 255, "letters": 26}), ("induction", {"n": 511})])
def test_reverse_and_induction_are_proven_at_512_positions(name, sizes):
    model = compile(standard(name, **sizes))
    assert model.config.block >= 511
    assert prove_compiled(model).right


def test_the_file_alone_is_enough_for_the_proof(tmp_path):
    model = compile(standard("induction", n=20, letters=5))
    hl.save(model, tmp_path / "m.safetensors")
    assert hl.certify(tmp_path / "m.safetensors") == prove_compiled(model)


def test_a_proof_is_about_the_program_in_the_notes():
    model = compile(standard("caesar", n=2, by=3))
    notes = json.loads(json.dumps(dict(model.notes)))
    notes[KEY]["values"] = compile(standard("caesar", n=2, by=4)).notes[KEY]["values"]
    with pytest.raises(hl.HandloomError, match="no proof"):
        prove_compiled(model.with_(notes=notes))


def mutated(model: hl.Model, rng: np.random.Generator) -> hl.Model:
    """The model with one weight, a row, two rows or columns, or a whole array changed."""
    flat = {name: array.copy() for name, array in model.flat.items()}
    array = flat[rng.choice([name for name in flat if flat[name].any()])]
    at = tuple(rng.choice(np.argwhere(array)))
    anywhere = tuple(int(rng.integers(size)) for size in array.shape)
    change = rng.integers(10)
    if change == 0:
        array[at] *= -1
    elif change == 1:
        array[at] *= rng.choice([0.99, 1.01])
    elif change == 2:
        array[at] *= rng.choice([0.0, 0.5, 0.9, 1.1, 1.3, 2.0])
    elif change == 3 and array.shape[-1] > 1:
        i, j = rng.choice(array.shape[-1], 2, replace=False)
        array[..., [i, j]] = array[..., [j, i]]
    elif change == 4 and array.shape[0] > 1:
        i, j = rng.choice(array.shape[0], 2, replace=False)
        array[[i, j]] = array[[j, i]]
    elif change == 5:
        array[at[:-1]] *= rng.choice([-1, 0.99, 1.01, 0.5])
    elif change == 6:
        array *= rng.choice([-1, 0.9, 0.99, 1.01, 1.1, 8.0])
    elif change == 7:
        array[..., at[-1]] *= rng.choice([-1, 0.99, 1.01, 0.0])
    else:
        array[anywhere] += rng.choice([-1, 1]) * rng.choice([1e-3, 0.03, 0.3, 3.0, 30.0])
    return model.with_(params=flat)


def proven(model: hl.Model) -> bool:
    try:
        return prove_compiled(model).right
    except hl.HandloomError as error:
        assert str(error).startswith("no proof"), error
        return False


def check_mutations(name: str, count: int) -> int:
    """Tamper with a model; whatever is still proven must be right on all inputs. How many are proven."""
    program = standard(name, **STANDARD[name].small)
    model, rng = compile(program), np.random.default_rng(len(name))
    accepted = 0
    for _ in range(count):
        tampered = mutated(model, rng)
        if proven(tampered):
            accepted += 1
            shown = hl.certify(tampered, program.task, everything=True)
            assert shown.right
            assert prove_compiled(tampered).margin <= shown.margin * (1 + 1e-4)
    return accepted


SOME = ["induction", "dyck-1", "most-frequent", "addition"]  # all of them: the slow test below


@pytest.mark.parametrize("name", SOME)
def test_what_was_tampered_with_is_proven_only_if_it_is_still_right(name):
    assert check_mutations(name, 12) < 12


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDARD)
def test_hundreds_of_tampered_models_are_proven_only_if_they_are_right(name):
    assert 0 < check_mutations(name, 100) < 100


LONG_FORMS = {
    "dyck-2": ("deciding", "FEW_DEPTHS", {"n": 6}),
    "most-frequent": ("comparing", "FEW_ORDERED", {"n": 6, "letters": 3}),
}


@pytest.mark.parametrize(
    "few_cases", [10, pytest.param(20_000, marks=pytest.mark.slow)]
)  # sums of them are taken as lines, or gone through
@pytest.mark.parametrize("name", LONG_FORMS)
def test_the_form_of_a_program_for_long_inputs_is_proven_only_if_it_is_right(name, few_cases, monkeypatch):
    module, limit, sizes = LONG_FORMS[name]
    monkeypatch.setattr(import_module(f"handloom.write.compiler.standard.{module}"), limit, 2)
    monkeypatch.setattr(streams, "FEW_CASES", few_cases)
    program = standard(name, **sizes)
    model, rng = compile(program), np.random.default_rng(1)
    assert prove_compiled(model).margin <= hl.certify(model, program.task, everything=True).margin * (1 + 1e-4)
    every = [mutated(model, rng) for _ in range(10)]
    kept = [one for one in every if proven(one)]
    assert 0 < len(kept) < len(every)
    assert all(hl.certify(one, program.task, everything=True).right for one in kept)


@pytest.mark.slow
@pytest.mark.parametrize("modulus", range(2, 11))
@pytest.mark.parametrize("n", [120, 126, 127])
def test_counts_modulo_any_number_are_proven_at_up_to_128_positions(n, modulus):
    assert prove_compiled(compile(standard("count-mod", n=n, modulus=modulus))).right


MEANS = {"majority": {"n": 7}, "dyck-1": {"n": 7}, "shuffle-dyck-2": {"n": 4}, "sort": {"n": 3, "digits": 2}}


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_with_too_many_values_is_proven_by_its_sign(name, monkeypatch):
    monkeypatch.setattr(ranges, "MOST_VALUES", 20)
    monkeypatch.setattr(ranges, "means_between", ranges.means_between.__wrapped__)
    program = standard(name, **MEANS[name])
    assert any(len(program.ranges.values[mean]) <= 5 for mean in program.ranges.signs)
    model, rng = compile(program), np.random.default_rng(0)
    assert prove_compiled(model).margin <= hl.certify(model, program.task, everything=True).margin * (1 + 1e-4)
    every = [mutated(model, rng) for _ in range(12)]
    kept = [one for one in every if proven(one)]
    assert 0 < len(kept) < len(every)
    assert all(hl.certify(one, program.task, everything=True).right for one in kept)


def test_neurons_that_differ_between_means_of_one_sign_are_not_proven():
    """At 1/21 and at 1 they write the same, and in between more."""
    model = compile(standard("majority", n=20))
    flat = {one: array.copy() for one, array in model.flat.items()}
    reads, writes = flat["layers.0.W_in"], flat["layers.0.W_out"]
    turn, moved = 7 / 8 / 21, 0.5
    reads[:2, 1] *= moved / turn
    writes[1] *= (1 - turn) / (1 - moved)
    with pytest.raises(hl.HandloomError, match="no proof: what neurons write differs for means of one sign"):
        prove_compiled(model.with_(params=flat))


@pytest.mark.parametrize("name", ["layers.0.W_Q", "layers.1.W_K", "layers.0.W_V", "W_E", "ln_final.w"])
@pytest.mark.parametrize("change", [1e30, 1e-42])
def test_what_may_overflow_or_underflow_in_float32_is_not_proven(name, change):
    model = compile(standard("reverse"))
    flat = {one: array.copy() for one, array in model.flat.items()}
    with np.errstate(all="ignore"):
        flat[name] = (flat[name] * change).astype(np.float32)
        assert not proven(model.with_(params=flat))


def test_scores_that_overflow_only_as_products_are_not_proven():
    model = compile(standard("reverse"))
    flat = {one: array.copy() for one, array in model.flat.items()}
    for name in ("layers.0.W_Q", "layers.0.W_K"):
        flat[name] *= np.float32(1e18)  # finite, and so are queries and keys
    assert not proven(model.with_(params=flat))


def test_a_proof_compares_the_rewritten_program_with_the_original(monkeypatch):
    model = compile(standard("caesar", n=2, by=3))
    other = standard("caesar", n=2, by=4)
    passes = import_module("handloom.write.compiler.compile")
    monkeypatch.setattr(passes, "rewritten", lambda answer, ranges: rewritten(other.answer, other.ranges))
    with pytest.raises(hl.HandloomError, match="no proof: rewritten"):
        prove_compiled(model)
