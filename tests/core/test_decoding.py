"""Decoding: with the cache and without, on both engines, the same tokens; and each way to choose does what it says."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from draws import models, random_model
from handloom.core import Config, HandloomError, Model, Vocab, decoding, generate, params, reference, torch_engine
from handloom.write import program

WAYS = [
    {},
    {"temperature": 1.0},
    {"temperature": 0.7, "top_k": 2},
    {"temperature": 1.3, "top_p": 0.6},
    {"temperature": 1.0, "top_k": 3, "top_p": 0.9},
]


def prompts_for(config, count, seed=0):
    """Prompts of different lengths, one of them as long as the block."""
    rng = np.random.default_rng(seed)
    lengths = [config.block, *rng.integers(1, config.block + 1, count - 1)]
    return [rng.integers(0, config.vocab, n).tolist() for n in lengths]


def by_the_definition(model, prompt, steps, stop, choose, draws):
    """One row, one token at a time, everything run again each time."""
    text = list(prompt)
    for step in range(steps):
        logits = reference.forward(model, text[-model.config.block :])[0][-1]
        text.append(int(choose(logits[None], draws[step : step + 1])[0]))
        if text[-1] in stop:
            break
    return text[len(prompt) :]


@given(models(), st.sampled_from(WAYS), st.integers(0, 9))
@settings(max_examples=60)
def test_decoding_is_its_definition_on_both_engines_with_the_cache_and_without(model, way, seed):
    """Prompts of different lengths, past the end of the block, with a stop token: for every Config."""
    prompts = prompts_for(model.config, 4, seed)
    steps, stop = model.config.block + 2, [0]
    choose = decoding.chooser(way.get("temperature", 0.0), way.get("top_k"), way.get("top_p"))
    expected = [
        by_the_definition(model, prompt, steps, stop, choose, np.random.default_rng((seed, i)).random(steps))
        for i, prompt in enumerate(prompts)
    ]
    for engine in ("reference", "torch"):
        for cache in (True, False):
            made = generate(model, prompts, steps=steps, stop=stop, seed=seed, engine=engine, cache=cache, **way)
            assert made == expected


@given(models(causal=True, block=6))
@settings(max_examples=40)
def test_a_decoder_gives_the_logits_of_the_whole_run(model):
    """Not only the same tokens: the same logits, with rows that leave one by one and come in any order."""
    rng = np.random.default_rng(0)
    V = model.config.vocab
    texts = [rng.integers(0, V, n).tolist() for n in (1, 3, 2, 4, 1)]
    for engine in (reference, torch_engine):
        decoder, rows = engine.Decoder(model), [0, 1, 2, 3, 4]
        fed = [list(text) for text in texts]
        out = decoder.advance(rows, fed)
        for leaving in ([], [1], [0, 3]):
            for row, logits in zip(rows, out, strict=True):
                whole = reference.forward(model, fed[row])[0][-1]
                assert np.allclose(logits, whole, rtol=1e-9, atol=1e-9)
            rows = [row for row in reversed(rows) if row not in leaving and len(fed[row]) < 6]
            new = rng.integers(0, V, len(rows)).tolist()
            for row, token in zip(rows, new, strict=True):
                fed[row].append(token)
            out = decoder.advance(rows, [[token] for token in new])


@pytest.mark.parametrize("positions", ["table", "sinusoid", "rotary", "none"])
def test_a_long_block_with_rows_that_leave_early(positions):
    """Past the 32 positions that a cache has room for at first, with prompts of 1 to 50 tokens and stops on the way."""
    shared = {"heads": 4, "kv_heads": 2, "gated": True} if positions == "rotary" else {"heads": 2}
    config = Config(vocab=60, block=90, d_model=8, layers=2, d_head=4, d_ff=8, positions=positions, **shared)
    model = random_model(config, scale=0.7)
    rng = np.random.default_rng(1)
    prompts = [rng.integers(0, 60, n).tolist() for n in (1, 50, 7, 33, 1, 20)]
    runs = [
        generate(model, prompts, steps=100, stop=[3], temperature=3.0, engine=engine, cache=cache)
        for engine in ("reference", "torch")
        for cache in (True, False)
    ]
    assert runs[0] == runs[1] == runs[2] == runs[3]
    assert len({len(row) for row in runs[0]}) > 2
    assert max(map(len, runs[0])) > 40


@pytest.mark.parametrize("engine", [reference, torch_engine], ids=["reference", "torch"])
def test_the_cache_is_used_until_the_window_slides(engine, monkeypatch):
    """How many positions each run computes: the prompts, then one a row; a whole window once it slides."""
    run = "forward" if engine is reference else "compute"
    original, seen = getattr(engine, run), []

    def counting(*words, **options):
        tokens = words[1] if engine is reference else words[2]
        seen.append(np.shape(tokens)[-1])
        return original(*words, **options)

    monkeypatch.setattr(engine, run, counting)
    model = random_model(Config(vocab=7, block=8, d_model=6, layers=1, heads=2, d_head=3))
    generate(model, [[1, 2, 3]], steps=8, engine="reference" if engine is reference else "torch")
    assert seen == [3, 1, 1, 1, 1, 1, 8, 8]
    seen.clear()
    generate(model, [[1, 2, 3]], steps=3, cache=False, engine="reference" if engine is reference else "torch")
    assert seen == [3, 4, 5]


def test_a_decoder_refuses_to_go_beyond_the_block():
    model = random_model(Config(vocab=7, block=3, d_model=6))
    for engine in (reference, torch_engine):
        decoder = engine.Decoder(model)
        decoder.advance([0], [[1, 2, 3]])
        with pytest.raises(HandloomError, match="the block"):
            decoder.advance([0], [[1]])


def test_endless_steps_cost_nothing_before_they_are_made():
    assert program("hello")("", steps=10**18, temperature=0.01) == "Hello World!"


def test_a_row_does_not_depend_on_the_others():
    model = random_model(Config(vocab=7, block=8, d_model=6, layers=1, heads=2, d_head=3))
    prompts = prompts_for(model.config, 6)
    together = generate(model, prompts, steps=5, temperature=1.0, seed=3)
    assert generate(model, prompts[:2], steps=5, temperature=1.0, seed=3) == together[:2]
    longer = generate(model, prompts, steps=9, temperature=1.0, seed=3)
    assert [row[:5] for row in longer] == together


def test_batches_change_nothing():
    model = random_model(Config(vocab=7, block=8, d_model=6, layers=1, heads=2, d_head=3))
    prompts = prompts_for(model.config, 9)
    for engine in ("reference", "torch"):
        whole = generate(model, prompts, steps=6, temperature=1.0, engine=engine)
        assert generate(model, prompts, steps=6, temperature=1.0, engine=engine, batch=2) == whole


def threads_in_a_new_thread():
    counts = []
    thread = threading.Thread(target=lambda: counts.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return counts[0]


def test_threads_change_nothing_keep_to_one_core_and_leave_all_other_threads_as_they_were():
    model = random_model(Config(vocab=7, block=8, d_model=6, layers=1, heads=2, d_head=3))
    prompts = prompts_for(model.config, 9)
    whole = generate(model, prompts, steps=6, temperature=1.0, engine="torch")
    threads, before = torch.get_num_threads(), set(threading.enumerate())
    torch.set_num_threads(3)
    inside, beside, counts = set(), set(), []

    def progress(done, total):
        inside.add(torch.get_num_threads())
        beside.add(threads_in_a_new_thread())
        counts.append(done)

    options = {"steps": 6, "temperature": 1.0, "engine": "torch", "rows_per_thread": 2}
    try:
        assert generate(model, prompts, progress=progress, **options) == whole
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
    assert inside == {1}
    assert beside == {3}
    assert counts == sorted(counts)
    assert counts[-1] == 9 * 6
    assert set(threading.enumerate()) == before


def test_a_failing_thread_stops_the_others():
    model = random_model(Config(vocab=7, block=8, d_model=6, layers=1, heads=2, d_head=3))
    calls = []

    def progress(done, total):
        calls.append(done)
        if done > 40:
            raise KeyboardInterrupt

    options = {"steps": 10_000, "temperature": 1.0, "engine": "torch", "rows_per_thread": 2}
    with pytest.raises(KeyboardInterrupt):
        generate(model, prompts_for(model.config, 8), progress=progress, **options)
    assert calls[-1] < 200


def test_one_seed_one_result_and_another_seed_another():
    model = random_model(Config(vocab=7, block=20, d_model=6))
    runs = [generate(model, [[1], [1]], temperature=1.0, seed=seed) for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert runs[0][0] != runs[0][1]


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0.2, 3.0))
def test_tokens_are_drawn_with_their_probabilities(logits, temperature):
    """A fine comb of uniform numbers gives each token its share, to within a tooth or two."""
    n = 4000
    comb = (np.arange(n) + 0.5) / n
    drawn = decoding.chooser(temperature, None, None)(np.tile(logits, (n, 1)), comb)
    shares = np.bincount(drawn, minlength=len(logits)) / n
    weights = np.exp((np.array(logits) - max(logits)) / temperature)
    assert np.abs(shares - weights / weights.sum()).max() <= 1.5 / n


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=8, unique=True),
    st.none() | st.integers(1, 9),
    st.none() | st.floats(0.05, 1.0),
)
def test_top_k_and_top_p_keep_what_they_say(logits, top_k, top_p):
    n = 3000
    comb = (np.arange(n) + 0.5) / n
    drawn = set(decoding.chooser(1.0, top_k, top_p)(np.tile(logits, (n, 1)), comb).tolist())
    p = np.exp(logits) / np.exp(logits).sum()
    likeliest = np.argsort(-p, kind="stable")
    kept = set(likeliest[: top_k or len(p)].tolist())
    if top_p is not None:
        held = 0.0
        for rank, token in enumerate(likeliest):  # the fewest that hold top_p
            if held >= top_p:
                kept -= set(likeliest[rank:].tolist())
                break
            held += p[token]
    assert drawn <= kept
    share = p[list(kept)] / p[list(kept)].sum()
    certain = {token for token, s in zip(kept, share, strict=True) if s > 2 / n}
    assert certain <= drawn


def test_top_p_takes_no_more_than_it_must():
    p = np.array([[0.5, 0.25, 0.25]] * 8)
    drawn = decoding.draw_from_top(p, (np.arange(8) + 0.5) / 8, None, 0.5)
    assert drawn.tolist() == [0] * 8
    drawn = decoding.draw_from_top(p, (np.arange(8) + 0.5) / 8, None, 0.51)
    assert set(drawn.tolist()) == {0, 1}


def test_top_k_of_one_is_greedy():
    logits = np.random.default_rng(0).normal(size=(50, 9))
    drawn = decoding.chooser(5.0, 1, None)(logits, np.random.default_rng(1).random(50))
    assert np.array_equal(drawn, logits.argmax(-1))


def test_the_window_slides_once_the_block_is_full():
    """Hello World has 13 positions; beyond them every new token is what the last position says."""
    model = program("hello")
    ids = generate(model, [model.vocab.encode("")], steps=20, stop=[])[0]
    assert model.vocab.decode(ids, specials=True) == "Hello World!" + "<eos>" * 8


def test_without_steps_a_row_ends_with_its_block_or_its_notes():
    config = Config(vocab=7, block=8, d_model=6)
    model = random_model(config)
    assert [len(row) for row in generate(model, [[1], [1, 2, 3], [0] * 8])] == [8, 6, 1]
    assert [len(row) for row in generate(model.with_(notes={"decode_steps": 3}), [[1], [0] * 8])] == [3, 3]


@pytest.mark.parametrize("note", [10**400, [10**400, 1], [10**12, -5]])
def test_notes_cannot_ask_for_tokens_without_end(note):
    config = Config(vocab=2, block=1, d_model=2, positions="none", biases=())
    model = Model(config, params.random(config, seed=0), Vocab.numbers(2), {"decode_steps": note})
    assert [len(row) for row in generate(model, [[1]])] == [10_000]
    with pytest.raises(HandloomError, match=r"steps=9*\.\.\. is too large \(expected up to 10\^18\)"):
        generate(model, [[1]], steps=10**400 - 1)
    assert generate(model, [[1]], steps=0) == [[]]
    assert generate(model, []) == []


def test_the_stop_token_is_the_last_one():
    model = program("hello")
    ids = generate(model, [model.vocab.encode("")])[0]
    assert ids[-1] == model.vocab.id("<eos>")
    assert len(ids) == 13
    assert model("", stop=[model.vocab.id("o")]) == "Hello"
    assert model("", stop=["o", "d"]) == "Hello"


def test_edits_last_through_decoding():
    model = program("hello")
    assert model("Hell", edits={"pos_embed": 0.0}) == "l" * 9
    assert model("Hell", edits={"pos_embed": 0.0}, engine="torch") == "l" * 9


def test_an_edit_sees_the_same_shapes_in_decoding_as_in_a_trace():
    from handloom.core import trace

    model = random_model(Config(vocab=7, block=8, d_model=6, layers=1, heads=2, d_head=3))
    shapes = set()

    def look(z):
        shapes.add(tuple(z.shape))
        z[1] = 0
        return z

    for engine in ("reference", "torch"):
        trace(model, "1 2 3", edits={"0.z": look}, engine=engine)
        model(["1 2 3", "4 5 6"], steps=1, edits={"0.z": look}, engine=engine)
    assert shapes == {(2, 3, 3)}


def test_a_model_takes_one_text_or_several():
    model = program("hello")
    assert model() == "Hello World!"
    assert model(["", "Hello"]) == ["Hello World!", " World!"]
    assert model.astype(np.float32)(engine="torch") == "Hello World!"


@pytest.mark.parametrize(
    ("way", "complaint"),
    [
        ({"temperature": -1.0}, "temperature=-1.0 must be 0"),
        ({"temperature": float("nan")}, "temperature=nan must be 0"),
        ({"temperature": 1.0, "top_k": 0}, "top_k=0 must be a whole number of at least 1"),
        ({"temperature": 1.0, "top_k": 1.5}, "top_k=1.5 must be a whole number"),
        ({"top_k": 3}, "at temperature 0 nothing is drawn"),
        ({"temperature": "hot"}, "temperature='hot' must be 0"),
        ({"temperature": 10**400}, "temperature=1000.* must be 0"),
        ({"stop": 3}, "stop=3 must be a list of tokens"),
        ({"stop": [1.5]}, "stop token=1.5 must be a whole number"),
        ({"stop": ["zz"]}, "token 'zz' is not in the vocabulary"),
        ({"edits": [("embed", 0)]}, "edits=.* must be a dict"),
        ({"top_p": 0.0}, "top_p=0.0 must be above 0 and at most 1"),
        ({"top_p": 1.5}, "top_p=1.5 must be above 0 and at most 1"),
        ({"steps": -1}, "steps=-1 must be a whole number"),
        ({"steps": 1.5}, "steps=1.5 must be a whole number"),
        ({"stop": [11]}, "stop token 11 is not in the vocabulary"),
        ({"seed": -1}, "seed=-1 must be a whole number"),
        ({"engine": "cuda"}, "no engine 'cuda'"),
    ],
)
def test_impossible_ways_to_decode_are_refused(way, complaint):
    with pytest.raises(HandloomError, match=complaint):
        program("hello")("", **way)


@pytest.mark.parametrize(
    ("prompts", "complaint"),
    [
        ([1, 2, 3], "tokens must be a list of token ids, not 1"),
        ("3 1", "prompts='3 1' must be a list of lists"),
        (None, "prompts=None must be a list of lists"),
        ([[[1, 2]]], r"a prompt must be one list of token ids; this one has the shape \(1, 2\)"),
    ],
)
def test_prompts_that_are_none_are_refused(prompts, complaint):
    with pytest.raises(HandloomError, match=complaint):
        generate(program("hello"), prompts)


@pytest.mark.parametrize("text", [5, None, b"H", [3, 1], [None]])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(HandloomError, match="text"):
        program("hello")(text)


def test_an_empty_prompt_is_refused_where_there_is_no_bos():
    with pytest.raises(HandloomError, match="the prompt is empty"):
        random_model(Config(vocab=3, block=2, d_model=2))("")


def test_threads_keep_to_one_core_also_in_mkl_whatever_the_caller_has_set():
    """torch.set_num_threads sets MKL's count for the whole process; results must not depend on it."""
    code = (
        "import hashlib, torch, handloom as hl\n"
        "for count in (1, 2):\n"
        "    torch.set_num_threads(count)\n"
        "    run = hl.train('strings:length=30-40', steps=3, width=128, lanes=2, engine='torch', count=100,"
        " layers=1, samples=0)\n"
        "    print(hashlib.sha256(run.model().params['layers'][0]['W_in'].tobytes()).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(set(done.stdout.split())) == 1


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"batch": 2.5}, {"rows_per_thread": 0}])
def test_sizes_of_batches_are_whole_and_positive(wrong):
    model = random_model(Config(vocab=7, block=8, d_model=6))
    with pytest.raises(HandloomError, match="must be a whole number of at least 1"):
        generate(model, [[0]], **wrong)
