"""What counts as a right answer: the same in training, in sampling and in a certificate."""

import pytest

import handloom as hl
from handloom.learn.data import Data
from handloom.learn.evaluation import Examiner
from handloom.learn.settings import Settings

VOCAB = hl.Vocab(("0", "1", "."), "", eos=".")


def copying(ended):
    """Answer with the question, and with the token that ends it or without."""
    end = [VOCAB.id(".")] if ended else []
    every = [[a, b] for a in (0, 1) for b in (0, 1)]
    return hl.Task(
        takes="two digits, such as 01",
        vocab=VOCAB,
        oracle=lambda ids: [*ids, *end] if len(ids) == 2 else None,
        draw=lambda rng: every[rng.integers(4)],
        count=4,
        every=lambda: every,
    )


@pytest.mark.parametrize("ended", [True, False])
def test_what_the_oracle_gives_is_the_answer_with_the_token_that_ends_it_or_without(ended):
    """A vocabulary may have a token for the end that the oracle leaves out: then the length tells where it ends."""
    task = copying(ended)
    examiner = Examiner(task, Data.of(task, Settings(count=20)).train)
    asked = [0, 1]
    right = task.oracle(asked)
    for output in ([0, 1, 2], [0, 1, 0], [0, 1, 1, 1]):
        assert examiner.judge([(asked, right)], [output]).success == (output == right or not ended)
    assert examiner.judge([(asked, right)], [[0, 0, 2]]).success == 0
    assert examiner.decode_notes() == ({} if ended else {"decode_steps": 2})


@pytest.mark.parametrize("ended", [True, False])
def test_training_and_certificate_agree_on_a_trained_model(ended):
    sizes = {"layers": 1, "heads": 2, "width": 16, "rate": 0.02, "batch": 16, "count": 40, "samples": 20}
    training = hl.train(copying(ended), steps=150, every=150, **sizes)
    model = training.model()
    assert training.evaluation.success == 1.0
    assert hl.certify(model, copying(ended)).right
    assert model("01") == "01"
