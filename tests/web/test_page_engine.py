"""The engine in the page against the reference: every site of all programs, of trained models and of random Configs
with edits; and what pages do with text."""

import math
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import handloom as hl
from draws import random_model, shape_of
from handloom.core import Config, Vocab, reference
from handloom.core.config import CHOICES, Bias
from handloom.core.decoding import generate
from handloom.core.sites import match, sites
from handloom.share.rows import known_task_of, rows_for
from handloom.view.pages.model_data import packed_model
from page_engine import PageCase, call, compared, function, node
from programs import CASES

DOCS = Path(__file__).parents[2] / "docs"
TRAINED = sorted([*DOCS.glob("lab/*.safetensors"), *DOCS.glob("read/**/*.safetensors")])
TOLERANCE = 1e-9  # at every site, as a share of the largest number there

SKIPS = (("attn", "mlp"), ("attn",), ("mlp",), ())
EXPERTS = ((0, 1), (0, 1), (3, 1), (4, 2))
NOT_IN_PAGES = set()  # fields of Config that the page refuses; it says so in one line

# Values that rounding makes: there the reference on one processor differs from the reference on another as much as from
# the page. Scores of `sort` are so large that the last bit of a key shows in the pattern; in the others it is a norm of
# a stream that is constant but for rounding, at positions before the answer. Measured: 1.3e-6, 2.8e-6, 5e-4, 1.4e-7,
# 5e-7, 1.5e-8, 0.3, 2.0, 8e-9.
ILL_CONDITIONED = {
    "sort": 1e-5,
    "sort:n=20": 1e-5,
    "modular-sum": 1e-2,
    "unpadded-addition": 1e-5,
    "book/lookup": 1e-5,
    "book/search": 1e-6,
    "book/modular-sum": 1.0,
    "book/addition": 10.0,
    "exercise/min-million": 1e-6,
}


@cache
def program_cases():
    """Each program on a right input and its answer."""
    cases = []
    for case in CASES:
        model = hl.program(case.name)
        prompt = model.vocab.encode_prompt(case.given)
        ids = (prompt + generate(model, [prompt])[0])[: model.config.block]
        cases.append(PageCase(case.name, model, ids, prompt=len(prompt)))
    return cases


def trained_cases():
    for path in TRAINED:
        model = hl.load(path)
        row = rows_for(model, known_task_of(model, None), 1)[0]
        yield PageCase(path.name, model, row.tokens)


def random_cases(count):
    """Random models of every kind, on random tokens, three in four with edits at random sites."""
    rng = np.random.default_rng(0)
    for number in range(count):
        config = random_config(rng)
        ids = rng.integers(0, config.vocab, rng.integers(1, config.block + 1)).tolist()
        edits = random_edits(config, len(ids), rng)
        yield PageCase(f"{number}: {config} {ids} {edits}", random_model(config, number, scale=0.5), ids, edits)


def random_config(rng):
    """Every field drawn by itself, as far as fields go together. (Hypothesis draws many alike, and small ones.)"""
    fields = {name: str(rng.choice(choices)) for name, choices in CHOICES.items()}
    fields |= {name: bool(rng.integers(2)) for name in ("causal", "tied", "gated")}
    fields |= {name: int(rng.integers(1, most + 1)) for name, most in {"vocab": 9, "block": 10, "d_model": 12}.items()}
    heads = int(rng.integers(0, 5))
    share = rng.choice([0, *(n for n in range(1, heads + 1) if heads % n == 0)])
    skips = SKIPS[rng.integers(4)]
    d_ff = int(rng.choice([0, 1, 5, 16]))
    experts, top = EXPERTS[rng.integers(4) if d_ff and not fields["gated"] else 0]
    return Config(
        layers=int(rng.choice([0, 1, 2, 2, 3, 3])),
        heads=heads,
        d_head=int(2 * rng.integers(1, 4) if fields["positions"] == "rotary" else rng.integers(1, 6)),
        d_ff=d_ff,
        experts=experts,
        top=top,
        kv_heads=int(share),
        biases=tuple(part for part in get_args(Bias) if rng.integers(2)),
        eps=float(rng.choice([1e-5, 1e-10, 0.1])),
        rotary_base=float(rng.choice([10_000.0, 7.0])),
        ridge=float(rng.choice([1.0, 0.1])),
        skips=skips,
        parallel=bool(fields["place"] == "pre" and len(skips) != 1 and rng.integers(2)),
        **fields,
    )


def random_edits(config, T, rng):
    known = sites(config)
    edits = {}
    for site in rng.choice([*known], rng.integers(0, 4)):
        kinds = [
            float(rng.normal()),
            rng.normal(size=shape_of(known[site], config, T)),
            rng.normal(size=shape_of(known[site], config, T)[-1:]),  # the same for all rows
            (float(rng.normal()), float(rng.normal())),
        ]
        pattern = f"*.{site.partition('.')[2]}" if "." in site and rng.random() < 0.2 else str(site)
        edits[pattern] = kinds[rng.integers(4)]
    return edits


def check(cases, folder):
    """No site further off than allowed, and the same likeliest tokens."""
    prompts = {case.name: case.prompt for case in cases}
    found = compared(cases, folder)
    assert {one["name"] for one in found} == set(prompts)
    for one in found:
        allowed = ILL_CONDITIONED.get(one["name"], TOLERANCE)
        assert one["worst"] <= allowed, one
        counted = prompts[one["name"]] - 1 if one["name"] in ILL_CONDITIONED else 0
        assert not [t for t in one["others"] if t >= counted], one
    return found


def test_every_site_of_all_programs_is_as_in_the_reference(tmp_path):
    for one in check(program_cases(), tmp_path):
        assert one["check"]["passed"], one  # what a page says when it is loaded


def test_every_site_of_trained_models_is_as_in_the_reference(tmp_path):
    found = check([*trained_cases()], tmp_path)
    assert len({one["name"] for one in found}) >= 20
    for one in found:
        assert one["check"]["passed"], one
        assert one["worst"] < 1e-12, one


def test_every_site_of_random_models_with_edits_is_as_in_the_reference(tmp_path):
    check([*random_cases(60)], tmp_path)


@pytest.mark.slow
def test_every_site_of_many_random_models_with_edits_is_as_in_the_reference(tmp_path):
    check([*random_cases(400)], tmp_path)


@pytest.mark.parametrize("name", ILL_CONDITIONED)
def test_the_exceptions_are_the_programs_that_the_last_bit_of_a_number_moves(name):
    """A weight's, or a score's, which a pattern multiplies: no two engines can agree to within the tolerance there."""
    case = next(case for case in program_cases() if case.name == name)
    known = [*sites(case.model.config)]
    rng, bit = np.random.default_rng(0), np.finfo(np.float64).eps
    flat = {name: a * (1 + bit * rng.choice((-1, 0, 1), a.shape)) for name, a in case.model.flat.items()}
    one, other = (reference.forward(m, case.ids, known)[1] for m in (case.model, case.model.with_(params=flat)))
    moved = [np.abs(one[site] - other[site]).max() / (np.abs(one[site]).max() or 1) for site in known]
    scores = [np.abs(one[site]).max() * bit for site in known if site.endswith(".scores")]
    assert max(*moved, *scores) > TOLERANCE


def test_the_page_knows_every_field_of_config():
    fields = {"vocab": 3, "block": 3, "d_model": 2}
    every = {name: field.default for name, field in Config.__dataclass_fields__.items() if name not in fields}
    answers = call("tests/listings.mjs", "listed", *[[fields | {name: default}] for name, default in every.items()])
    refused = {name for name, answer in zip(every, answers, strict=True) if "error" in answer}
    assert refused == NOT_IN_PAGES


# text


def test_greedy_decoding_gives_the_same_answers():
    cases = program_cases()
    got = call("tests/texts.mjs", "generated", *[[packed_model(c.model, []), c.ids[: c.prompt], {}] for c in cases])
    assert got == [generate(case.model, [case.ids[: case.prompt]])[0] for case in cases]


HOW = (
    {"temperature": 1.0, "seed": 3},
    {"temperature": 0.7, "top_k": 2, "seed": 2**40 + 5},
    {"temperature": 2.0, "top_p": 0.6, "seed": 1},
    {"temperature": 1.3, "top_p": 0.9, "top_k": 3, "steps": 40},  # the window slides
    {"steps": 0},
    {"stop": [1], "temperature": 1.0, "steps": 30},
    {"stop": ["3"], "steps": 30},
    {"edits": {"0.z": 0.5}, "steps": 9},
)


@pytest.mark.parametrize("fields", [{}, {"causal": False}, {"positions": "rotary", "kv_heads": 1}])
def test_sampling_draws_the_same_tokens(fields):
    sizes = {"vocab": 5, "block": 12, "d_model": 8, "layers": 2, "heads": 2, "d_head": 4, "d_ff": 8}
    model = random_model(Config(**sizes | fields), seed=1, scale=0.5)
    prompts = [[3], [1, 4, 2], [0]]
    camel = {"top_k": "topK", "top_p": "topP"}
    asked = [
        [packed_model(model, []), prompt, {camel.get(key, key): value for key, value in how.items()} | {"row": row}]
        for how in HOW
        for row, prompt in enumerate(prompts)
    ]
    wanted = [tokens for how in HOW for tokens in generate(model, prompts, **how)]
    assert call("tests/texts.mjs", "generated", *asked) == wanted


def test_random_numbers_are_those_of_numpy():
    seeds = [(0, 0), (1, 2), (2**32 + 7, 3), (2**53 - 1, 2**40), (5, 499)]
    drawn = call("tests/texts.mjs", "draws", *[[*seed, 100] for seed in seeds])
    assert drawn == [np.random.default_rng(seed).random(100).tolist() for seed in seeds]


VOCABS = (
    Vocab.of("abc", eos="<eos>"),
    Vocab.of("ab<>sb", bos="<bos>", eos="<eos>", pad="."),
    Vocab.numbers(13, bos="go"),
    Vocab(("a", "ab", "abc", "b", "😀", "é", "😀!", " "), separator=""),
    Vocab(("the", "cat", "é", "a.b", "[x]")),
)
TEXTS = ("", "cab", "abcab😀!😀", "  1  2\t12\n0 ", "go 3 4", "<bos>ab", "the cat [x] a.b\u00a0é\x1cthe", "a b", "é")


def tried(encode, text):
    try:
        return encode(text)
    except hl.HandloomError as error:
        return {"error": str(error)}


def test_texts_become_the_same_tokens_and_tokens_the_same_texts():
    got = call("tests/texts.mjs", "encode", *[[vocab.to_json(), text] for vocab in VOCABS for text in TEXTS])
    wanted = [tried(vocab.encode, text) for vocab in VOCABS for text in TEXTS]
    assert [one if isinstance(one, list) else "refused" for one in got] == [
        one if isinstance(one, list) else "refused" for one in wanted
    ]
    assert sum(isinstance(one, list) for one in wanted) >= 12
    ids = [[*range(len(vocab))] for vocab in VOCABS]
    both = [(vocab, i, specials) for vocab, i in zip(VOCABS, ids, strict=True) for specials in (False, True)]
    texts = call("tests/texts.mjs", "decode", *[[vocab.to_json(), i, specials] for vocab, i, specials in both])
    assert texts == [vocab.decode(i, specials) for vocab, i, specials in both]


def test_a_vocabulary_of_a_tokenizer_takes_ids_only():
    vocab = {"tokens": ["a", "b"], "separator": "", "tokenizer": True}
    (refused,) = call("tests/texts.mjs", "encode", [vocab, "ab"])
    assert refused == {"error": "this vocabulary needs the library tokenizers, which no page has; give token ids"}


# parts


def test_erf_is_right_to_the_last_bits():
    rng = np.random.default_rng(0)
    x = [*rng.uniform(-7, 7, 20_000), *(rng.choice([-1, 1], 2_000) * 10 ** rng.uniform(-300, 1, 2_000)), 0.0]
    got = call("engine/erf.js", "erf", *[[one] for one in x])
    wrong = [abs(a - math.erf(one)) / (abs(math.erf(one)) or 1) for a, one in zip(got, x, strict=True)]
    assert max(wrong) <= 1e-15


def test_sites_and_patterns_are_those_of_python():
    cases = [*random_cases(30)]
    listed = call("tests/listings.mjs", "listed", *[[case.model.config.to_json()] for case in cases])
    assert listed == [[[*pair] for pair in sites(case.model.config).items()] for case in cases]
    config = Config(vocab=3, block=3, d_model=2, layers=3, heads=1, d_head=2, d_ff=2)
    patterns = ("*", "*.pattern", "?.ln?", "[02].z", "[!0].q", "ln_final*")
    found = call("tests/listings.mjs", "matched", *[[config.to_json(), pattern] for pattern in patterns])
    assert found == [match(pattern, sites(config)) for pattern in patterns]
    (refused,) = call("tests/listings.mjs", "matched", [config.to_json(), "0.patern"])
    assert refused["error"].startswith('no site "0.patern" in this model; its sites are embed, pos_embed, 0.resid_pre')


def test_the_engine_keeps_its_own_promises():
    """What is tested in JavaScript alone: resuming, errors, kernels, tensors."""
    node("--test", "tests/engine.test.mjs")


def test_a_pair_is_a_function():
    assert function((2.0, 1.0))(3.0) == 7.0
