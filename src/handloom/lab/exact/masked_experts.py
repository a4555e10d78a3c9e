"""A mixture of experts is a dense model under a sparse mask that each run computes anew; all other weights are free.

Bukatin's slides: “a mixture of experts is a dynamically computed sparse mask on each run, the rest arbitrary”. Both
halves are exact. A layer with E experts of F neurons, of which each position uses k (Shazeer et al. 2017), is a layer
of E·F neurons whose outputs are multiplied by a mask: the softmax of the k largest logits, F times each, and 0
elsewhere. Here the dense model computes the mask itself while it runs, out of the stream that its MLP reads, so that no
mixture is run beside it. Then each position of a string gets a model of its own, in which all experts that it does not
choose have random weights: the logits stay what they were.

Nothing is scaled down but the sizes, and all weights are random. Controls: the dense model without a mask; with the
masks of another string; and positions whose models have random weights in one of the experts that they choose.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handloom.core import Config, Model, Trace, Vocab, params, reference
from handloom.core.arrays import Array
from handloom.core.reference import softmax
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.view.figures.panels import Bars, Heat, Mark, Panel

CLAIM = Claim(
    name="masked-experts",
    says="a mixture of experts is a dense model under a sparse mask computed per run; masked weights are arbitrary",
    source="Bukatin's slides; Shazeer et al. 2017",
    papers=("1701.06538",),
    seed="Bukatin",
    number="equal; k of E experts in the mask",
    quick=0.1,
    full=0.5,
)
EXPERTS, NEURONS, TOP = 16, 8, 2  # E, F and k
SIZES: dict[str, Any] = {"vocab": 20, "block": 12, "d_model": 24, "layers": 3, "heads": 2, "d_head": 12}
ROWS = 5
EXACT = 1e-12  # of the largest logit
NAMES = {
    "mask": "dense, with its mask",
    "rest": "the rest random",
    "none": "no mask",
    "other": "mask of another string",
    "chosen": "a chosen expert random",
}


def run(lab: Lab) -> Finding:
    model = mixture(lab.rng(0))
    rows = lab.rng(1).integers(0, model.config.vocab, (ROWS, model.config.block))
    logits, seen = reference.forward(model, rows, want=["*.gate", "*.k", "*.v"])
    gates = [seen[f"{i}.gate"] for i in range(model.config.layers)]  # (ROWS, T, E) each
    dense = with_all_neurons(model)

    def off(found: Array) -> float:
        return float(np.abs(found - logits).max() / np.abs(logits).max())

    errors = {
        "mask": off(reference.forward(dense, rows, edits=masks_of_its_own(model))[0]),
        "rest": off(by_position(model, rows, seen, lab.rng(2), others)),
        "none": off(reference.forward(dense, rows)[0]),
        "other": off(reference.forward(dense, rows, edits=masks([of_another_string(one) for one in gates]))[0]),
        "chosen": off(by_position(model, rows, seen, lab.rng(2), one_of_the_chosen)),
    }
    within: dict[str, Any] = {"most": EXACT, "form": ".1e"}
    return Finding(
        checks=[
            Check("dense model with the mask it computes, off by", errors["mask"], said=0.0, **within),
            Check("random weights in what each position does not choose", errors["rest"], said=0.0, **within),
            Check("share of the neurons in the mask", np.mean([one > 0 for one in gates]), most=TOP / EXPERTS),
            Check("dense model without a mask", errors["none"], control=True, **within),
            Check("dense model with the mask of another string", errors["other"], control=True, **within),
            Check("random weights in one expert that is chosen", errors["chosen"], control=True, **within),
        ],
        series={"errors": errors, "gates": gates[0][0].T.tolist()},
    )


def mixture(rng: np.random.Generator) -> Model:
    """A transformer with experts, all of it random."""
    config = Config(**SIZES, d_ff=NEURONS, experts=EXPERTS, top=TOP, tied=False)
    weights = params.build(config, lambda name, shape: rng.normal(float(params.is_gain(name)), 0.3, shape))
    return Model(config, weights, Vocab.numbers(config.vocab))


def with_all_neurons(model: Model) -> Model:
    """The dense model: the experts of each layer side by side, and no gates."""
    flat: dict[str, Array] = {}
    for name, array in model.flat.items():
        if name.endswith(("W_in", "b_in")):
            flat[name] = np.concatenate(list(array), axis=-1)  # (D, E·F)
        elif name.endswith("W_out"):
            flat[name] = np.concatenate(list(array), axis=0)  # (E·F, D)
        elif not name.endswith("_gate"):
            flat[name] = array
    config = replace(model.config, experts=0, d_ff=EXPERTS * NEURONS)
    return Model(config, flat, model.vocab)


def masks_of_its_own(model: Model) -> dict[str, Any]:
    """Edits of the dense model: what each of its MLPs reads is looked at, and decides the mask of its neurons."""
    edits: dict[str, Any] = {}
    for i, layer in enumerate(model.params["layers"]):
        seen: list[Array] = []

        def look(x: Array, seen: list[Array] = seen) -> Array:
            seen.append(x)
            return x

        def mask(post: Array, seen: list[Array] = seen, layer: Any = layer) -> Array:
            return post * np.repeat(chosen(seen[-1] @ layer["W_gate"] + layer["b_gate"]), NEURONS, -1)

        edits |= {f"{i}.ln2": look, f"{i}.mlp_post": mask}
    return edits


def chosen(logits: Array) -> Array:
    """A softmax over the k largest logits; no two are equal here."""
    least = np.sort(logits, axis=-1)[..., -TOP, None]
    return softmax(np.where(logits >= least, logits, -np.inf))


def masks(gates: Sequence[Array]) -> dict[str, Any]:
    """Edits of the dense model with given masks."""
    factors = [np.repeat(one, NEURONS, -1) for one in gates]
    return {f"{i}.mlp_post": lambda post, factor=factor: post * factor for i, factor in enumerate(factors)}


def of_another_string(gates: Array) -> Array:
    return np.roll(gates, 1, axis=0)


def by_position(model: Model, rows: Array, run: Trace, rng: np.random.Generator, which: Any) -> Array:
    """The logits if every position of every string has a model of its own: `which` names, by its gates in the run, the
    experts that have random weights in it. Keys and values of the positions before it are those of the run."""
    found = np.zeros((*rows.shape, model.config.vocab))
    for row, tokens in enumerate(rows):
        for t in range(len(tokens)):
            flat = model.flat
            edits: dict[str, Any] = {}
            for i in range(model.config.layers):
                edits |= {site: before(run[site][row], t) for site in (f"{i}.k", f"{i}.v")}
                for name in (f"layers.{i}.{part}" for part in ("W_in", "b_in", "W_out")):
                    flat[name] = flat[name].copy()
                    flat[name][which(run[f"{i}.gate"][row, t])] = rng.normal(size=flat[name].shape[1:])
            own = model.with_(params=flat)
            found[row, t] = reference.forward(own, tokens[: t + 1], edits=edits)[0][-1]
    return found


def before(kept: Array, t: int) -> Any:
    """An edit of keys or values (H, T, K): those of the positions before t are replaced."""
    return lambda x: np.concatenate([kept[:, :t], x[:, t:]], axis=1)


def others(gate: Array) -> Array:
    """Those that are not chosen."""
    return np.flatnonzero(gate == 0)


def one_of_the_chosen(gate: Array) -> Array:
    return np.flatnonzero(gate)[:1]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    values = [[max(one["errors"][key], 1e-17) for one in seeds] for key in NAMES]  # a logarithm of 0 has no place
    grey = [NAMES[key] for key in ("none", "other", "chosen")]
    places = [str(t + 1) for t in range(SIZES["block"])]
    experts = [str(e + 1) for e in range(EXPERTS)]
    title = "Weights of the experts, layer 1, one string"
    return [
        Bars(
            "Logits against the mixture's", "off by", list(NAMES.values()), values, grey, [Mark(EXACT, "bound")], True
        ),
        Heat(title, "position", "expert", places, experts, seeds[0]["gates"], ".1f"),
    ]
