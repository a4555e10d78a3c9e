"""How likely texts are: chances that add up to 1, agree with the losses of training, and follow the chain rule."""

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import handloom as hl
from command import handloom
from draws import configs, random_model
from handloom.core import HandloomError, Vocab
from handloom.learn.api import prepare
from training_runs import RULE, SMALL

LETTERS = Vocab.of("ab", bos="<end>", eos="<end>")


def speaker(config, seed):
    return random_model(config, seed).with_(vocab=LETTERS)


@given(configs(vocab=3, causal=True), st.integers(0, 99))
def test_the_chances_of_all_texts_add_up_to_one(config, seed):
    """Those that end before n tokens, and those of n tokens however they go on."""
    model, n = speaker(config, seed), min(3, config.block)
    total = 0.0
    for length in range(n + 1):
        texts = ["".join(letters) for letters in product("ab", repeat=length)]
        total += sum(hl.score(model, text, end=length < n).probability for text in texts)
    assert total == pytest.approx(1.0, abs=1e-9)


@given(configs(vocab=3, causal=True, block=6), st.text("ab", min_size=1, max_size=5), st.data())
def test_a_text_is_as_likely_as_its_beginning_and_then_the_rest(config, text, data):
    model, at = speaker(config, 1), data.draw(st.integers(0, len(text) - 1))
    whole, rest = hl.score(model, text), hl.score(model, text[at:], text[:at])
    first = hl.score(model, text[:at], end=False).log_probability if at else 0.0
    assert first + rest.log_probability == pytest.approx(whole.log_probability)
    assert rest.tokens == (*text[at:], "<end>")
    on_torch = hl.score(model, text, engine="torch")
    assert on_torch.log_probabilities == pytest.approx(whole.log_probabilities)


def test_the_held_out_loss_of_a_run_is_the_mean_of_what_its_strings_score():
    training = prepare(RULE, **SMALL)
    model, vocab, held = training.model(), training.task.vocab, training.held_out
    texts = [vocab.decode(held.row(i)[1]) for i in range(len(held))]
    logs = [log for text in texts for log in hl.score(model, text).log_probabilities]
    assert -np.mean(logs) == pytest.approx(training.trainer.loss(held), abs=1e-5)


def test_even_chances_have_the_perplexity_of_the_vocabulary():
    config = hl.Config(vocab=3, block=9, d_model=4)
    even = hl.Model(config, hl.params.zeros(config), LETTERS)
    assert hl.score(even, "abba").perplexity == pytest.approx(3.0)
    assert hl.score(even, "abba", end=False).log_probability == pytest.approx(-4 * math.log(3))


def test_to_a_written_program_the_right_answer_is_likelier():
    model = hl.program("addition", digits=2)
    right, wrong = (hl.score(model, answer, "45+78=") for answer in ("123", "124"))
    assert right.log_probability > wrong.log_probability
    assert right.tokens[:3] == ("1", "2", "3")


def test_without_a_beginning_the_first_token_is_given():
    config = hl.Config(vocab=4, block=5, d_model=4)
    model = random_model(config)
    assert hl.score(model, "3 1 2").tokens == ("1", "2")
    assert hl.score(model, "1 2", "3") == hl.score(model, "3 1 2")
    with pytest.raises(HandloomError, match="no token to score"):
        hl.score(model, "3")


def test_what_cannot_be_scored_is_told():
    config = hl.Config(vocab=3, block=3, d_model=4)
    with pytest.raises(HandloomError, match="sees both ways"):
        hl.score(speaker(hl.Config(vocab=3, block=3, d_model=4, causal=False), 0), "ab")
    with pytest.raises(HandloomError, match="the text takes 7 tokens and the block holds 3"):
        hl.score(speaker(config, 0), "ababab")
    with pytest.raises(HandloomError, match="'c' is not in the vocabulary"):
        hl.score(speaker(config, 0), "abc")
    with pytest.raises(HandloomError, match="no token to score"):
        hl.score(speaker(config, 0), "", end=False)


def test_the_command_says_what_the_function_does(tmp_path):
    model = speaker(hl.Config(vocab=3, block=6, d_model=4, layers=1, heads=1, d_head=4, d_ff=4), 0)
    hl.save(model, tmp_path / "m.safetensors")
    expected = hl.score(model, "ab")
    found = json.loads(handloom("score", "m.safetensors", "ab", "b", "--json", cwd=tmp_path).stdout)
    assert [line["text"] for line in found["texts"]] == ["ab", "b"]
    assert found["texts"][0]["log_probability"] == pytest.approx(expected.log_probability)
    assert found["texts"][0]["tokens"] == ["a", "b", "<end>"]
    both = expected.log_probability + hl.score(model, "b").log_probability
    assert found["log_probability"] == pytest.approx(both)
    assert found["perplexity"] == pytest.approx(math.exp(-both / 5))
    (tmp_path / "texts.txt").write_text("ab\n\nb\n")
    assert json.loads(handloom("score", "m.safetensors", "--file", "texts.txt", "--json", cwd=tmp_path).stdout) == found
    said = handloom("score", "m.safetensors", "ab", "--tokens", cwd=tmp_path).stdout.splitlines()
    assert said[0].startswith(f"log p {expected.log_probability:.4f}, perplexity {expected.perplexity:.4g} over 3")
    assert [line.split()[0] for line in said[1:]] == ["a", "b", "<end>"]
    assert said[1].split()[1] == f"{math.exp(expected.log_probabilities[0]):.2%}"
    for words in (["xyz"], [], ["ab", "--file", "texts.txt"], ["--file", "none.txt"]):
        refused = handloom("score", "m.safetensors", *words, cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), words
