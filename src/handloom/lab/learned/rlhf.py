"""Demonstrations, a reward model from comparisons, and PPO make a model do what is wanted; too much of it undoes it.

Wagner's slides show the three steps of Ouyang et al. 2022, Mehlig's the same for ChatGPT. Gao, Schulman and Hilton 2022
replace the people who compare by a known gold reward: as the model moves away from its start, by √KL, the gold reward
rises, then falls, while that of the reward model goes on rising. Here a model of 18,000 weights learns loose strings of
16 digits, about a fifth of them ones. The rule is 4 to 12 ones, which half of the strings obey. A judge prefers of two
strings the one whose number of ones is nearer to 8, with the probability of Bradley and Terry. A transformer, whose
scalar is read at the end, learns 2,000 such comparisons. Of the strings that it sees 0.3 % have more than 8 ones, so it
cannot know that more are worse: as in Gao et al. it is right where the start's strings are, and elsewhere a guess. A
string with a token that is no digit is worth as much as one without ones.

The gold reward was chosen so that it can fall; in three other settings that were tried, with one or two seeds each, it
did not fall among well-formed strings. Where the rule is that two digits are equal, or a hard bound on the number of
ones, the reward model is right about all strings that the start draws, and PPO ends at a string that obeys. Where a
larger random transformer is the gold reward, it rose with the learned one, or went up and down. So the fall that is
found here needs a best string beyond what the comparisons show. It has two parts: first too many ones, then tokens that
are no digits, which the reward model has never seen and likes (`formed` in the series).

Controls: shuffled comparisons must not bring obedience, and PPO on the gold reward itself must not fall.
"""

from collections.abc import Callable, Sequence

import numpy as np

from handloom.core import Config, Model, Vocab
from handloom.core.arrays import Array
from handloom.core.engines import choose_engine, fastest
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn import Settings, steps
from handloom.learn.learner import Transformer
from handloom.learn.policy import PolicySettings, improve
from handloom.view.figures.panels import Dots, Lines, Mark, Panel, band

CLAIM = Claim(
    name="rlhf",
    says="PPO on a learned reward makes a model obey; without a KL penalty a gold reward that can fall falls again",
    source="Ouyang et al. 2022; Gao, Schulman and Hilton 2022",
    papers=("2203.02155", "2210.10760"),
    seed="Wagner",
    number="1.3B preferred to 175B (from memory); gold reward rises, then falls with √KL",
    quick=5.6,
    full=28,
)
LENGTH, ONES, BEST, NEAR = (
    16,
    0.22,
    8,
    4,
)  # of strings: digits, share of ones, the best number of ones, how far is right
VOCAB = Vocab(("0", "1", "^"), separator="", bos="^")
CONFIG = Config(vocab=3, block=LENGTH + 1, d_model=32, layers=2, heads=2, d_head=16, d_ff=64, tied=False)
COMPARISONS, PAIRS = 2000, 64  # in all, and per step
LAST = 10  # batches over which the end of a run is measured

Scores = Callable[[Array], Array]  # strings (B, 1 + LENGTH) → (B,)


def run(lab: Lab) -> Finding:
    start = demonstrated(lab)
    learned = reward_model(comparisons(lab, shuffled=False), lab)
    count = lab.pick(12, 150)
    wanted: list[tuple[str, Scores, float]] = [("bound", learned, 0.5), ("free", learned, 0.0)]
    if not lab.quick:
        nothing = reward_model(comparisons(lab, shuffled=True), lab)
        wanted += [("shuffled", nothing, 0.5), ("true", gold, 0.0)]
    runs: dict[str, dict[str, list[float]]] = {}
    for name, reward, kl in wanted:
        lab.progress(len(runs), len(wanted))
        runs[name] = optimised(start, reward, kl, count, lab)
    bound, free, shuffled, true = (runs.get(name) for name in ("bound", "free", "shuffled", "true"))
    assert bound is not None
    assert free is not None
    top = peak(free)
    return Finding(
        checks=[
            Check("obedient at first", bound["obedient"][0], least=0.4, most=0.6, form=".0%"),
            Check("obedient after PPO", end(bound, "obedient"), least=0.95, form=".1%"),
            Check("rise of the gold reward to its peak", free["gold"][top] - free["gold"][0], least=1.0),
            Check("fall from its peak, without a bound", fall(free), least=1.0),
            Check("rise of the learned reward after that", end(free, "reward") - free["reward"][top], least=0.0),
            Check(
                "obedient, shuffled comparisons",
                end(shuffled, "obedient") if shuffled else None,
                least=0.95,
                control=True,
                form=".1%",
            ),
            Check("fall, with the gold reward itself", fall(true) if true else None, least=1.0, control=True),
        ],
        series=runs,
    )


def loose(rng: np.random.Generator, rows: int) -> Array:
    """Strings of the demonstrations, with the token that begins them."""
    digits = (rng.random((rows, LENGTH)) < ONES).astype(np.int64)
    return np.concatenate([np.full((rows, 1), VOCAB.id("^")), digits], 1)


def gold(strings: Array) -> Array:
    """The gold reward: how near the number of ones is to the best one."""
    ones = (strings[:, 1:] == VOCAB.id("1")).sum(1)
    return np.where(well_formed(strings), -np.abs(ones - float(BEST)), -float(BEST))


def well_formed(strings: Array) -> Array:
    """Whether all tokens are digits."""
    return (strings[:, 1:] != VOCAB.id("^")).all(1)


def demonstrated(lab: Lab) -> Model:
    """Step one: a model of the demonstrations."""

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        strings = loose(rng, 64)
        return strings[:, :-1], strings[:, 1:]

    *_, step = steps(CONFIG, draw, Settings(steps=200, rate=3e-3, seed=lab.seed), vocab=VOCAB)
    return step.model()


def comparisons(lab: Lab, shuffled: bool) -> tuple[Array, Array]:
    """The better and the worse strings of pairs, as the judge sees them; or shuffled: as a coin does."""
    rng = lab.rng(1)
    one, other = loose(rng, COMPARISONS), loose(rng, COMPARISONS)
    sure = 0.0 if shuffled else gold(one) - gold(other)
    better = (rng.random(COMPARISONS) < 1.0 / (1.0 + np.exp(-sure)))[:, None]
    return np.where(better, one, other), np.where(better, other, one)


def reward_model(pairs: tuple[Array, Array], lab: Lab) -> Scores:
    """Step two: a transformer whose scalar, the first logit at the end of a string, explains the comparisons."""
    import torch

    network, rng = Transformer(CONFIG), lab.rng(2)
    weights = {name: torch.tensor(array, requires_grad=True) for name, array in network.start(lab.seed + 1).items()}
    adam = torch.optim.AdamW(weights.values(), lr=1e-3, weight_decay=0.1)
    for _ in range(100):  # about three times through all pairs
        rows = rng.integers(0, COMPARISONS, PAIRS)
        strings = torch.from_numpy(np.concatenate([side[rows] for side in pairs]))
        better, worse = network.logits(weights, strings, strings, 0.0, None)[:, -1, 0].split(PAIRS)
        loss = -torch.nn.functional.logsigmoid(better - worse).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    model = Model(CONFIG, {name: tensor.detach().numpy() for name, tensor in weights.items()}, VOCAB)
    return lambda strings: choose_engine(fastest(model)).forward(model, strings)[0][:, -1, 0]


def optimised(start: Model, reward: Scores, kl: float, count: int, lab: Lab) -> dict[str, list[float]]:
    """Step three: PPO; of each batch √KL, the reward it is given, the gold reward, and the shares of its strings that
    obey and that are well-formed."""
    settings = PolicySettings(steps=count, batch=lab.pick(64, 128), rate=5e-4, kl=kl, longest=LENGTH, seed=lab.seed)
    found: dict[str, list[float]] = {"distance": [], "reward": [], "gold": [], "obedient": [], "formed": []}
    for step in improve(start, lambda strings: reward(strings.ids.reshape(-1, LENGTH + 1)), settings):
        strings = step.strings.ids.reshape(-1, LENGTH + 1)
        true, formed = gold(strings), well_formed(strings)
        measured = (step.kl**0.5, step.reward, float(true.mean()), float((true >= -NEAR).mean()), float(formed.mean()))
        for values, value in zip(found.values(), measured, strict=True):
            values.append(value)
    return found


def end(found: dict[str, list[float]], name: str) -> float:
    return float(np.mean(found[name][-LAST:]))


def peak(found: dict[str, list[float]]) -> int:
    """The batch with the highest gold reward."""
    return int(np.argmax(found["gold"]))


def fall(found: dict[str, list[float]]) -> float:
    """From the highest gold reward to that of the end."""
    return found["gold"][peak(found)] - end(found, "gold")


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    def dots(name: str) -> list[tuple[float, float]]:
        """Both rewards are 0 at the start: a reward model has no zero of its own."""
        runs = [series["free"] for series in seeds]
        return [(x, y - run[name][0]) for run in runs for x, y in zip(run["distance"], run[name], strict=True)]

    batches = range(1, len(seeds[0]["bound"]["obedient"]) + 1)
    curves = [band("comparisons", batches, [series["bound"]["obedient"] for series in seeds])]
    if "shuffled" in seeds[0]:
        curves.append(band("shuffled", batches, [series["shuffled"]["obedient"] for series in seeds], control=True))
    groups = {"learned reward": dots("reward"), "gold reward": dots("gold")}
    return [
        Lines("PPO with KL to the start", "batches", "share that obeys", curves, [Mark(0.95, "95 %")]),
        Dots("Without: over-optimised", "√KL", "reward, above the start's", groups, [Mark(0.0, "start")]),
    ]
