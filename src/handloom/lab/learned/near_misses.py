"""Where a transformer computes wrong eigenvalues, they are near misses: roughly right, and not absurd.

Charton 2021 trained transformers to compute with matrices; an answer within 5 % counts as right. Charton 2022 looked at
the wrong ones. They keep properties of the solution, and are not absurd but "roughly right". His matrices were larger,
with three digits. Here they are symmetric, 2 × 2, with entries from −9.9 to 9.9 in tenths, and the eigenvalues are
asked in tenths too, the larger first. A number is two tokens, its sign and its tenths: which tokens are close to each
other must be learned. Data are fresh at every step and in the exam.

As in the paper the error is ‖answer − result‖ / ‖result‖, where ‖·‖ is the sum of absolute values. Up to 5 % is right,
up to 20 % is a near miss. A property that wrong eigenvalues may keep is their sum, the trace: it is near if it is off
by at most 10 % of ‖result‖, and it is kept if the errors of the two eigenvalues cancel. The controls give each wrong
answer to the question of another one, and pair the error of one eigenvalue with that of the other in another answer.

Seen: nine wrong answers of ten are near misses. Their sums are near the trace only because each eigenvalue is near: the
errors do not cancel, 0.7 of them are left in the sum, as if they were mixed. (The paper's properties are others: unit
eigenvectors, right eigenvalues of a wrong decomposition. The trace is ours.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from handloom.core import Config, Model
from handloom.core.arrays import Array
from handloom.core.engines import choose_engine, fastest
from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.learn.data import NOTHING
from handloom.learn.fresh import steps
from handloom.learn.settings import Settings
from handloom.view.figures.panels import Dots, Lines, Mark, Panel, band

CLAIM = Claim(
    name="near-misses",
    says="where a transformer computes wrong eigenvalues, most are within 20 % of the right ones, and keep their sum",
    source="Charton 2021; Charton 2022",
    papers=("2112.01898", "2211.00170"),
    seed="Wagner",
    number="roughly right, with properties of the solution",
    quick=3.6,
    full=20,
)
MOST = 99  # of an entry, in tenths
LARGEST = 2 * MOST  # of an eigenvalue
PLUS, MINUS = LARGEST + 1, LARGEST + 2  # the tokens behind those of the tenths
ASKED = 6  # tokens of a question: the signs and tenths of a, b and c, for the rows (a, b) and (b, c)
RIGHT, NEAR = 0.05, 0.2
SHOWN = 3  # the largest error in the picture
EDGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def run(lab: Lab) -> Finding:
    model = trained(lab)
    matrices = draw_matrices(lab.rng(1), lab.pick(4000, 20_000))
    found = judged(answers_of(model, matrices), eigenvalues_of(matrices), {"model": model})
    return replace(found, checks=[one if one.control else lab.in_time(one) for one in found.checks])


def judged(answers: Array, results: Array, models: Mapping[str, Model]) -> Finding:
    """The checks on the answers (B, 2) to questions with these results."""
    off = errors(answers, results)
    wrong = ~(off <= RIGHT)
    answers, results = answers[wrong], results[wrong]
    others = np.roll(answers, 1, axis=0)  # each wrong answer, given to another question
    far = errors(others, results)
    mixed = np.stack([answers[:, 0] - results[:, 0], np.roll(answers[:, 1] - results[:, 1], 1)], 1)
    share = partial(Check, least=0.8, form=".0%")
    return Finding(
        checks=[
            Check("answers within 5 %", 1 - wrong.mean(), least=0.8, form=".0%"),
            share("wrong ones that are two numbers, the larger first", share_of(answers[:, 0] >= answers[:, 1])),
            share("wrong ones within 20 %", share_of(off[wrong] <= NEAR)),
            share("wrong ones whose sum is near the trace", near_trace(answers, results)),
            Check("part of the errors that is left in the sum", left_in_sum(answers - results), most=0.5),
            share("within 20 % of another question's result", share_of(far <= NEAR), control=True),
            share("near another question's trace", near_trace(others, results), control=True),
            Check("left in the sum if errors are mixed", left_in_sum(mixed), most=0.5, control=True),
        ],
        series={
            "all": [share_of(off <= edge) for edge in EDGES],
            "wrong": [share_of(off[wrong] <= edge) for edge in EDGES],
            "others": [share_of(far <= edge) for edge in EDGES],
            "errors": (answers - results)[np.isfinite(answers).all(1)][:300].tolist(),
        },
        models=models,
    )


def trained(lab: Lab) -> Model:
    """A transformer that saw fresh matrices at every step."""
    width, layers, batch = lab.pick((32, 1, 64), (64, 2, 128))
    config = Config(
        vocab=MINUS + 1,
        block=ASKED + 3,
        d_model=width,
        layers=layers,
        heads=4,
        d_head=width // 4,
        d_ff=4 * width,
    )
    settings = Settings(steps=lab.pick(1000, 2500), rate=lab.pick(4e-3, 2e-3), schedule="cosine", seed=lab.seed)
    for step in steps(config, lambda rng: batch_of(rng, batch), settings):
        lab.progress(step.number, settings.steps)
        if step.number == settings.steps:
            return step.model()
    raise AssertionError("training has at least one step")


def draw_matrices(rng: np.random.Generator, count: int) -> Array:
    """The entries a, b and c of symmetric matrices, in tenths."""
    return rng.integers(-MOST, MOST + 1, (count, 3))


def eigenvalues_of(matrices: Array) -> Array:
    """Of each matrix the larger and the smaller one, rounded."""
    a, b, c = matrices.T
    half = np.sqrt((a - c) ** 2 + 4 * b**2) / 2
    return np.rint(np.stack([(a + c) / 2 + half, (a + c) / 2 - half], 1)).astype(int)


def batch_of(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Matrices with their eigenvalues, of which each token is asked behind those before it."""
    matrices = draw_matrices(rng, count)
    rows = np.hstack([written(matrices), written(eigenvalues_of(matrices))])
    targets = rows[:, 1:].copy()
    targets[:, : ASKED - 1] = NOTHING
    return rows[:, :-1], targets


def written(numbers: Array) -> Array:
    """The sign and the tenths of each number of a row."""
    signs = np.where(numbers < 0, MINUS, PLUS)
    return np.stack([signs, np.abs(numbers)], 2).reshape(len(numbers), -1)


def read(tokens: Array) -> Array:
    """The numbers that rows of tokens spell; NaN where they spell none."""
    signs, sizes = tokens[:, ::2], tokens[:, 1::2]
    formed = (signs >= PLUS) & (sizes <= LARGEST)
    return np.where(formed, np.where(signs == MINUS, -sizes, sizes), np.nan)


def answers_of(model: Model, matrices: Array) -> Array:
    """The eigenvalues that the model generates."""
    return read(continued(model, written(matrices), 4))


def continued(model: Model, rows: Array, count: int) -> Array:
    """The next tokens of each row, one likeliest after the other."""
    asked, engine = rows.shape[1], choose_engine(fastest(model))
    for _ in range(count):
        logits = np.asarray(engine.forward(model, rows)[0])[:, -1]
        rows = np.hstack([rows, logits.argmax(-1)[:, None]])
    return rows[:, asked:]


def errors(answers: Array, results: Array) -> Array:
    """‖answer − result‖ / ‖result‖ of each question; NaN if the answer is no two numbers."""
    return np.asarray(np.abs(answers - results).sum(1) / np.maximum(1, np.abs(results).sum(1)))


def near_trace(answers: Array, results: Array) -> float | None:
    """The share of answers whose sum is the trace, to within 10 % of ‖result‖."""
    off = np.abs((answers - results).sum(1)) / np.maximum(1, np.abs(results).sum(1))
    return share_of(off <= 0.1)


def left_in_sum(both: Array) -> float | None:
    """The mean over answers of |e + f| / (|e| + |f|), where e and f are the errors of the two eigenvalues: 0 if they
    cancel, 1 if they have one sign; None if there are none."""
    both = both[np.abs(both).sum(1) > 0]  # of mixed errors some are 0; those of no number are left out
    return share_of(np.abs(both.sum(1)) / np.abs(both).sum(1))


def share_of(these: Array) -> float | None:
    """Their mean; None of none."""
    return float(these.mean()) if these.size else None


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    edges = [100 * edge for edge in EDGES]
    curves = [
        band("all answers", edges, [one["all"] for one in seeds]),
        band("wrong answers", edges, [one["wrong"] for one in seeds]),
        band("wrong, to another question", edges, [one["others"] for one in seeds], control=True),
    ]
    errors = [(one[0] / 10, one[1] / 10) for one in seeds[0]["errors"]]
    near = [one for one in errors if max(map(abs, one)) <= SHOWN]
    title = f"Errors of wrong answers ({len(errors) - len(near)} more beyond ±{SHOWN})"
    return [
        Lines("Eigenvalues", "error of up to, %", "share of answers", curves, [Mark(0.8, "most of them")], log_x=True),
        Dots(title, "of the larger eigenvalue", "of the smaller one", {"seed 0": near}, equal=True),
    ]
