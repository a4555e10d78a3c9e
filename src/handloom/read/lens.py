"""The logit lens, and direct attribution: what the stream would predict at each site, and who wrote the answer.

    print(lens(model, "4 0 8 0 1 3 0 8 0"))                     # a row per site, a column per position
    print(direct_attribution(model, "4 0 8 0 1 3 0 8 0", "1"))   # embed, pos, heads, MLPs, biases: sums to the logit

The lens (nostalgebraist 2020) reads the stream of every site through the last norm, computed anew there, and the
unembedding; at the last site it is the model. Direct attribution splits the last stream into what each part wrote,
with the scale of the last norm frozen (`frozen.py`): the contributions sum to the target. A post-norm model has no last
norm: its lens reads the stream as it is, and its attribution follows each part through the norms behind it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from handloom.core import Config, Model, Trace
from handloom.core.arrays import Array, Arrays
from handloom.core.finding import find
from handloom.core.params import one_mlp
from handloom.core.reference import norm, softmax
from handloom.core.registry import offered
from handloom.core.trace import Tap
from handloom.read.frozen import BIAS, LOGITS, Frozen, reference_run, run_frozen
from handloom.read.part_names import token_names
from handloom.read.target import ROUNDING, Target, id_of_token, spell_amount, target_of

MOST_COLUMNS = 12  # positions printed, the last ones
MOST_NEURONS = 5  # printed


@dataclass(frozen=True, eq=False)
class Lens:
    """What the stream would predict: at each site and position a token and its probability."""

    tokens: tuple[str, ...]  # of the text
    sites: tuple[str, ...]
    answer: str | None  # the token that all probabilities are of; None: the likeliest of each place
    predicted: tuple[tuple[str, ...], ...]  # (sites, T)
    probability: Array  # (sites, T)

    def to_json(self) -> dict[str, Any]:
        rows = zip(self.sites, self.predicted, self.probability.tolist(), strict=True)
        sites = [{"site": site, "predicted": list(tokens), "probability": chances} for site, tokens, chances in rows]
        return {"tokens": list(self.tokens), "answer": self.answer, "sites": sites}

    def __str__(self) -> str:
        """The last positions, the model's output first."""
        rows = [["", *self.tokens[-MOST_COLUMNS:]]]
        for site, tokens, chances in reversed(list(zip(self.sites, self.predicted, self.probability, strict=True))):
            cells = [f"{token} {chance:.0%}" for token, chance in zip(tokens, chances, strict=True)]
            rows.append([site, *cells[-MOST_COLUMNS:]])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def lens(model: Model | str, text: Any, answer: str | int | None = None) -> Lens:
    """The logit lens of a text or of token ids: the likeliest token at each site and position, or how likely a given
    answer is there."""
    model = find(model).model
    sites = lens_sites(model.config)
    run = reference_run(model, text, [*sites, LOGITS])
    logits = np.stack([lens_logits(model, run[site]) for site in sites])  # (sites, T, V)
    names, chances = token_names(model), softmax(logits)
    chosen = logits.argmax(-1) if answer is None else np.full(logits.shape[:-1], id_of_token(model, answer))
    probability = np.take_along_axis(chances, chosen[..., None], -1)[..., 0]
    predicted = tuple(tuple(names[token] for token in row) for row in chosen)
    told = None if answer is None else names[id_of_token(model, answer)]
    return Lens(tuple(names[int(i)] for i in run.tokens), tuple(sites), told, predicted, probability)


def lens_sites(config: Config) -> list[str]:
    """The stream before the first layer, in the middle of each and behind each. (Behind one is before the next.)"""
    if not config.layers:
        return ["resid_final"]
    middle = ("resid_mid", "resid_post") if config.heads and config.d_ff else ("resid_post",)
    middle = ("resid_post",) if config.parallel else middle
    return ["0.resid_pre", *(f"{i}.{name}" for i in range(config.layers) for name in middle)]


def lens_logits(model: Model, x: Array) -> Array:
    """The logits (..., V) of a stream (..., D), as if it were the last."""
    config, p = model.config, model.astype(np.float64).params
    silent = Tap(config, (), (), None, lambda new, old: new, np.copy)
    x = norm(config, p.get("ln_final"), x, "", silent)
    return np.asarray(x @ (p["W_E"].T if config.tied else p["W_U"]) + p.get("b_U", 0.0))


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each part of the model wrote directly into the target; the sum is the target."""

    target: Target
    parts: Mapping[str, float]  # embed, pos, heads, MLPs and "bias"
    neurons: Arrays  # MLP → what each of its neurons wrote, (F,); these sum to its part

    def strongest_neurons(self, number: int) -> dict[str, float]:
        """The neurons that contribute most, by MLP and number: "0.mlp 17"."""
        every = {f"{mlp} {n}": float(x) for mlp, values in self.neurons.items() for n, x in enumerate(values)}
        return dict(largest_first(every)[:number])

    def to_json(self) -> dict[str, Any]:
        neurons = {mlp: values.tolist() for mlp, values in self.neurons.items()}
        return {**self.target.to_json(), "parts": dict(self.parts), "neurons": neurons}

    def __str__(self) -> str:
        largest = max(map(abs, self.parts.values()))
        parts = [part for part in largest_first(self.parts) if abs(part[1]) > ROUNDING * largest]
        lines = [f"{spell_amount(value, largest):>12}  {name}" for name, value in parts]
        neurons = ", ".join(f"{name} {value:+.3g}" for name, value in self.strongest_neurons(MOST_NEURONS).items())
        return "\n".join([str(self.target), *lines, *([f"strongest neurons: {neurons}"] if neurons else [])])

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def largest_first(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """Those that differ by rounding only, in the order given."""
    largest = max(map(abs, values.values()), default=0.0) or 1.0
    return sorted(values.items(), key=lambda item: -round(abs(item[1]) / largest, 9))


def direct_attribution(
    model: Model | str, text: Any, answer: str | int | None = None, against: str | int | None = None, position: int = -1
) -> Attribution:
    """Who wrote the logit of an answer, by default the token that the model predicts, at a position of a text or of
    token ids; compared with the mean logit, or with the logit of the token `against`."""
    model = find(model).model
    frozen, run = run_frozen(model, text)
    target = target_of(model, run, answer, against, position)
    *_, parts = frozen.reads()
    seen = target.weights @ frozen.W_U.T  # (T, D), behind the last norm
    found = {name: float((x * seen).sum()) for name, x in parts.items()}
    found[BIAS] += float((target.weights @ frozen.b_U).sum())
    return Attribution(target, found, dict(neuron_contributions(model, frozen, run, target)))


def neuron_contributions(model: Model, frozen: Frozen, run: Trace, target: Target) -> Iterator[tuple[str, Array]]:
    """What each neuron of each MLP wrote, (F,), from the last MLP to the first."""
    g, _ = frozen.covector(target.weights)
    layers = [one_mlp(model.config, layer) for layer in model.astype(np.float64).params["layers"]]
    for j in reversed(range(len(frozen.sublayers))):
        g = frozen.sublayers[j].after.back(g)
        for name in frozen.sublayers[j].sources:
            i = int(name.partition(".")[0])
            yield name, (run[f"{i}.mlp_post"] * (g @ layers[i]["W_out"].T)).sum(-2)
