"""How likely a text is: p(x₁ … x_T) is the product of the p(x_t | x₁ … x_t₋₁), each a softmax of the model's logits.

>>> from handloom.core import Config, Model, Vocab, params
>>> config = Config(vocab=3, block=4, d_model=3)
>>> even = Model(config, params.zeros(config), Vocab.of("ab", bos="<end>", eos="<end>"))
>>> even_chances = score(even, "ab")
>>> even_chances.tokens, round(even_chances.probability, 3), round(even_chances.perplexity, 3)
(('a', 'b', '<end>'), 0.037, 3.0)
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.trace import trace


@dataclass(frozen=True)
class Score:
    """The tokens of a text and the natural logarithm of each one's probability given all tokens before it."""

    tokens: tuple[str, ...]
    log_probabilities: tuple[float, ...]

    @property
    def log_probability(self) -> float:
        return math.fsum(self.log_probabilities)

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)

    @property
    def perplexity(self) -> float:
        """The number of equally likely tokens that would be as hard to predict."""
        try:
            return math.exp(-self.log_probability / len(self.tokens))
        except OverflowError:
            return math.inf

    @property
    def finite_perplexity(self) -> float | None:
        """The same for JSON, which has no infinity."""
        return self.perplexity if self.perplexity < math.inf else None

    @classmethod
    def joined(cls, scores: Iterable["Score"]) -> "Score":
        """The score of several texts, each scored by itself."""
        scores = list(scores)
        tokens, logs = (one.tokens for one in scores), (one.log_probabilities for one in scores)
        return cls(tuple(chain.from_iterable(tokens)), tuple(chain.from_iterable(logs)))

    def __str__(self) -> str:
        return (
            f"log p {self.log_probability:.4f}, perplexity {self.perplexity:.4g} over {len(self.tokens):,} "
            f"token{'s' * (len(self.tokens) > 1)}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "log_probability": self.log_probability,
            "perplexity": self.finite_perplexity,
            "tokens": list(self.tokens),
            "log_probabilities": list(self.log_probabilities),
        }


def score(model: Model, text: str, prompt: str = "", *, end: bool = True, engine: str | None = None) -> Score:
    """How likely a causal model is to generate a text after a prompt, and then to end, if the vocabulary has an eos and
    `end` is not False. Without a prompt and without a bos, the first token of the text is taken as given."""
    if not model.config.causal:
        raise HandloomError("a model that sees both ways gives texts no probability; score a causal model")
    vocab, given = model.vocab, model.vocab.encode_prompt(prompt)
    scored = vocab.encode(text, begin=False)
    if end and vocab.eos is not None and scored[-1:] != [vocab.ids[vocab.eos]]:
        scored = [*scored, vocab.ids[vocab.eos]]
    known = max(1, len(given))  # tokens that are not scored
    ids = [*given, *scored]
    if len(ids) <= known:
        raise HandloomError("there is no token to score; give a text of at least one token after the prompt")
    if (needed := len(ids) - 1) > model.config.block:
        raise HandloomError(f"the text takes {needed} tokens and the block holds {model.config.block}; shorten it")
    logits = np.asarray(trace(model, ids[:-1], "logits", engine=engine)["logits"], np.float64)[known - 1 :]
    shifted = logits - logits.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    chosen = logs[np.arange(len(logs)), ids[known:]]
    return Score(tuple(vocab.tokens[i] for i in ids[known:]), tuple(chosen.tolist()))
