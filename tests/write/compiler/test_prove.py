"""Proofs of compiled programs: what is proven is right, by running every input; and what was tampered with is not."""

import json

import numpy as np
import pytest

import handloom as hl
from handloom.write.compiler import compile
from handloom.write.compiler.prove import prove
from handloom.write.compiler.stored import KEY
from handloom.write.standard import STANDARD, standard

# their functions rely on promises (None), or worst cases of rounding exceed what their counts leave room for
UNPROVEN = {"dedupe", "dyck-2", "multiplication", "subleq"}
PROVEN = [name for name in STANDARD if name not in UNPROVEN]


@pytest.mark.parametrize("name", PROVEN)
def test_a_standard_program_is_proven_at_its_default_size(name):
    program = standard(name)
    proof = hl.certify(compile(program))
    assert (proof.method, proof.inputs, proof.right, proof.dtype) == ("proof", program.asked.count, True, "float32")
    assert proof.margin > 0


@pytest.mark.parametrize("name", sorted(UNPROVEN))
def test_a_program_without_a_proof_is_run_instead(name):
    with pytest.raises(hl.HandloomError, match="no proof"):
        prove(compile(standard(name)))
    assert hl.certify(compile(standard(name)), samples=20).right


@pytest.mark.parametrize("name", PROVEN)
def test_a_proven_margin_is_at_most_the_one_that_all_inputs_show(name):
    program = standard(name, **STANDARD[name].small)
    model = compile(program)
    shown = hl.certify(model, program.task, everything=True)
    assert shown.right
    assert 0 < prove(model).margin <= shown.margin * (1 + 1e-4)


@pytest.mark.parametrize(("name", "sizes"), [("reverse", {"n": 255, "letters": 26}), ("induction", {"n": 511})])
def test_reverse_and_induction_are_proven_at_512_positions(name, sizes):
    model = compile(standard(name, **sizes))
    assert model.config.block >= 511
    assert prove(model).right


def test_the_file_alone_is_enough_for_the_proof(tmp_path):
    model = compile(standard("induction", n=20, letters=5))
    hl.save(model, tmp_path / "m.safetensors")
    assert hl.certify(tmp_path / "m.safetensors") == prove(model)


def test_a_proof_is_about_the_program_in_the_notes():
    model = compile(standard("caesar", n=2, by=3))
    notes = json.loads(json.dumps(dict(model.notes)))
    notes[KEY]["values"] = compile(standard("caesar", n=2, by=4)).notes[KEY]["values"]
    with pytest.raises(hl.HandloomError, match="no proof"):
        prove(model.with_(notes=notes))


def mutated(model: hl.Model, rng: np.random.Generator) -> hl.Model:
    """The model with one weight, two columns or two rows changed."""
    flat = {name: array.copy() for name, array in model.flat.items()}
    array = flat[rng.choice([name for name in flat if flat[name].any()])]
    at = tuple(rng.choice(np.argwhere(array)))
    anywhere = tuple(int(rng.integers(size)) for size in array.shape)
    change = rng.integers(6)
    if change == 0:
        array[at] *= -1
    elif change == 1:
        array[at] *= 1.01
    elif change == 2:
        array[at] *= rng.choice([0.5, 0.9, 1.1, 1.3, 2.0])
    elif change == 3 and array.shape[-1] > 1:
        i, j = rng.choice(array.shape[-1], 2, replace=False)
        array[..., [i, j]] = array[..., [j, i]]
    elif change == 4 and array.shape[0] > 1:
        i, j = rng.choice(array.shape[0], 2, replace=False)
        array[[i, j]] = array[[j, i]]
    else:
        array[anywhere] += rng.choice([-1, 1]) * rng.choice([1e-3, 0.03, 0.3, 3.0, 30.0])
    return model.with_(params=flat)


def proven(model: hl.Model) -> bool:
    try:
        return prove(model).right
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
            assert hl.certify(tampered, program.task, everything=True).right
    return accepted


@pytest.mark.parametrize("name", ["reverse", "induction", "sort-unique", "count-mod", "dyck-1", "parity", "histogram"])
def test_what_was_tampered_with_is_proven_only_if_it_is_still_right(name):
    assert check_mutations(name, 12) < 12


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVEN)
def test_hundreds_of_tampered_models_are_proven_only_if_they_are_right(name):
    assert 0 < check_mutations(name, 200) < 200
