"""A proof that the small adder (`addition.py`) is right, for numbers too long to try them all.

    >>> from handloom.write.ours.addition import small_addition
    >>> print(prove(small_addition(2)))
    right on all 10,000 inputs (proof: intervals over cases), float64, smallest margin 0.00024

What a position computes depends on few digits: those that it attends to. All cases of these are gone through, and
whatever else it sees is an interval that holds it in every case: digits that are not attended to, sums, stops and
carries of other places. Intervals go through norm, softmax and neurons; at the end the right token's logit must lie
above all others in every case, and how far above at the least is the margin. The cases of the last layer: the place k
of the answer, the token that stands there and the digits of this place, its stop, the first place below k that is not a
nine, and whether that one makes a carry.

Boxes have six coordinates, (high − low) / 2 and the other five directions, where the stream has seven. That is exact,
as all that is written into this stream has mean 0, which is checked.

Rounding: after every step a box is made wider on each side by the part ROUND, 512 times what one rounding is, of the
largest number that the step adds up, here or in a run of the model. A run rounds by less: no step has more than some
50 operations. What numbers a step adds up is known in all seven directions (they may cancel in six): behind a norm none
is above NORMED, and those of the stream add up to no more than LARGEST, which is checked. In a run the mean is not
quite 0, but rounded; a norm takes it away, and is made wider for it by ROUND of LARGEST. About float32 nothing is
proven.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.params import is_norm
from handloom.tasks.certificate import Certificate
from handloom.tasks.sums import EQUALS, PLUS, sum_vocab
from handloom.write.ours.addition import STREAM, small_addition
from handloom.write.parts.intervals import ROUND, Box, hull_over, spread, stack, total

LARGEST = 2.0**13  # what the numbers of the stream at one position may add up to
EXPONENTIAL = 64 * ROUND  # of exp(x), where x, down to −745, is rounded too
D = STREAM.width
NORMED = 3.0  # no number is larger behind a norm: their squares add up to 7
CASES = np.add.outer(np.arange(10), np.arange(10))  # the sum of two digits


def reads(W: Array) -> Array:
    """A matrix (D, m) that reads the stream, in the six coordinates (6, m)."""
    return np.concatenate([[W[0] - W[1]], W[2:] - (W[0] + W[1]) / 2])


def writes(W: Array) -> Array:
    """Vectors (..., D) of mean 0 in the six coordinates."""
    if np.any(W.sum(-1) != 0.0):
        raise HandloomError("the model writes what has a mean other than 0; the proof is for models that do not")
    return np.concatenate([(W[..., :1] - W[..., 1:2]) / 2, W[..., 2:]], axis=-1)


class Reads:
    """A matrix (D, m) that reads what is behind a norm. What is read may be off by `rounding`, (m,)."""

    def __init__(self, W: Array) -> None:
        self.six, self.sizes = reads(W), np.abs(W).sum(0)
        self.rounding = ROUND * NORMED * self.sizes

    def __call__(self, normed: Box) -> Box:
        return (normed @ self.six).wider(self.rounding)


class Writes:
    """Rows (m, D) that are written into the stream, each times an amount."""

    def __init__(self, W: Array) -> None:
        self.six = writes(W)
        self.sizes = np.abs(self.six).sum(-1)  # none of the seven numbers of a row is larger

    def __call__(self, amounts: Box) -> Box:
        self.check(amounts)
        return (amounts @ self.six).wider(ROUND * LARGEST)

    def check(self, amounts: Box) -> None:
        check_largest(amounts.size @ self.sizes)


def check_largest(sizes: Array) -> None:
    if not np.all(sizes <= LARGEST):  # nor are they NaN
        raise HandloomError(f"no proof: numbers in the stream add up to more than {LARGEST:,.0f}")


def norm(x: Box, eps: float) -> Box:
    """Layer norm. The mean is 0; high and low are ±x₀ less half the sum of the others."""
    by = one_over_scale(x, eps)
    return (x * by).wider(ROUND * LARGEST * by.high)


def one_over_scale(x: Box, eps: float) -> Box:
    check_largest(x.size.sum(-1))
    squares, half = x.square(), Box(x.low[..., 1:].sum(-1) / 2, x.high[..., 1:].sum(-1) / 2).square()
    low, high = (
        np.sqrt((2 * s[..., 0] + 2 * h + s[..., 1:].sum(-1)) / D + eps)[..., None]
        for s, h in ((squares.low, half.low), (squares.high, half.high))
    )
    low, high = low * (1 - ROUND) - ROUND * LARGEST, high * (1 + ROUND) + ROUND * LARGEST
    if not np.all(low > 0.0):
        raise HandloomError("no proof: a norm may divide by nearly nothing")
    return Box((1 - ROUND) / high, (1 + ROUND) / low)


class LayerOfBoxes:
    """One layer of the model, on boxes in six coordinates."""

    def __init__(self, weights: Any, eps: float) -> None:
        self.eps = eps
        self.Q, self.K, self.V = (Reads(weights[name][0]) for name in ("W_Q", "W_K", "W_V"))
        self.O, self.W_in, self.W_out = Writes(weights["W_O"][0]), Reads(weights["W_in"]), Writes(weights["W_out"])

    def __call__(self, own: Box, others: Sequence[Box | list[Box]]) -> Box:
        """A position's stream behind the layer: `own` in front of it, attention to itself and to `others`, where a list
        stands for one position, which is in one of its boxes. Boxes may have dimensions in front: cases, which are
        matched like NumPy's."""
        query = self.Q(norm(own, self.eps))
        positions = [p if isinstance(p, list) else [p] for p in [own, *others]]
        low, high = compare(query, *zip(*(self.key(box) for p in positions for box in p), strict=True))
        starts = np.cumsum([0, *(len(p) for p in positions[:-1])])
        low, high = np.minimum.reduceat(low, starts, 0), np.maximum.reduceat(high, starts, 0)
        x = own + self.O(mix(low, high, [hull_over(self.V(norm(spread(p), self.eps)), 0) for p in positions]))
        return x + self.mlp(norm(x, self.eps))

    def key(self, x: Box) -> tuple[Box, Box]:
        """A key at the middle of what the norm may divide by, and by which part of itself it may be longer."""
        by = one_over_scale(x, self.eps)
        middle = (by.low + by.high) / 2
        key = (x @ self.K.six) * Box(middle, middle)
        normed = ROUND * LARGEST * by.high  # by which what is read may be off, as in `norm`
        longer = Box(by.low / middle - 1, by.high / middle - 1).wider(ROUND)
        return key.wider(self.K.rounding + normed * self.K.sizes), longer

    def mlp(self, x: Box) -> Box:
        """Neurons that are active in all of a box are one linear map: where one takes away what another adds, it does
        so for the same x."""
        pre = self.W_in(x)
        hidden, active = Box(np.maximum(pre.low, 0.0), np.maximum(pre.high, 0.0)), pre.low > 0.0
        self.W_out.check(hidden)
        out = self.W_out(Box(np.where(active, 0.0, hidden.low), np.where(active, 0.0, hidden.high)))
        low, high = np.zeros_like(out.low), np.zeros_like(out.high)
        for which in np.unique(active.reshape(-1, active.shape[-1]), axis=0):
            here = (active == which).all(-1)
            linear = x[here] @ (self.W_in.six[:, which] @ self.W_out.six[which])
            linear = linear.wider(ROUND * LARGEST + self.W_in.rounding[which] @ self.W_out.sizes[which])
            low[here], high[here] = linear.low, linear.high
        return out + Box(low, high)


def compare(query: Box, keys: Sequence[Box], longer: Sequence[Box]) -> tuple[Array, Array]:
    """Scores (source, ...), the lowest and the highest they can be. Softmax does not mind if the same is taken away
    from all; here it is query · c, with c the best key, so that it matters little to keys near c what the query is."""
    all_keys = spread(keys, query.low.shape)
    middle = (all_keys.low + all_keys.high) / 2  # (source, ..., K)
    best = ((query.low + query.high) / 2 * middle).sum(-1).argmax(0)
    c = np.take_along_axis(middle, best[None, ..., None], 0)
    ahead = total(query * Box(all_keys.low - c, all_keys.high - c))
    score = ahead + total(query * all_keys) * spread(longer, (*middle.shape[1:-1], 1))[..., 0]
    score = score.wider(ROUND * (query.size * all_keys.size).sum(-1).max(0))  # of all that is compared, c among it
    root = np.sqrt(middle.shape[-1])
    return score.low / root, score.high / root


def mix(low: Array, high: Array, values: Sequence[Box]) -> Box:
    """Softmax. Weights add up to 1, so that all may be measured from a centre c: Σ w v = c + Σ w (v − c)."""
    e_low, e_high = np.exp(low - high.max(0)), np.exp(high - high.max(0))
    w_low = (share(e_low, e_high, 0.0) * (1 - EXPONENTIAL))[..., None]
    w_high = (share(e_high, e_low, 1.0) * (1 + EXPONENTIAL))[..., None]
    v = spread(values, w_low.shape[1:])
    c = ((w_low + w_high) * (v.low + v.high)).sum(0) / (2 * (w_low + w_high).sum(0))
    least = np.minimum(w_low * (v.low - c), w_high * (v.low - c)).sum(0)
    most = np.maximum(w_low * (v.high - c), w_high * (v.high - c)).sum(0)
    return Box(c + least, c + most).wider(ROUND * v.size.max(0))


def share(e: Array, others: Array, if_unknown: float) -> Array:
    """What each has of the whole, if it has e and the others have that: e / (e + all others but its own)."""
    whole = e + np.tensordot(1.0 - np.eye(len(e)), others, 1)
    return np.divide(e, whole, out=np.full_like(whole, if_unknown), where=whole > 0.0)


def prove(model: Model, progress: Progress | None = None) -> Certificate:
    """That the model adds any two numbers of as many digits as its block is for, in float64. A model of which that
    cannot be shown is refused; it may be right all the same."""
    if model.dtype != np.float64:
        raise HandloomError(f"the proof is about float64; the model is {model.dtype}")
    n = (model.config.block - 2) // 3
    if model.vocab != sum_vocab():
        raise HandloomError(
            f"the proof is about the tokens {sum_vocab().sample()}; the model has {model.vocab.sample()}"
        )
    plain = all(np.all(array == 1.0) for name, array in model.flat.items() if is_norm(name))
    if model.config != small_addition(n).config or not plain:
        raise HandloomError(f"the model is not of the shape of small_addition({n}); the proof is about that one only")
    with np.errstate(all="ignore"):  # what overflows proves nothing
        margin = Proof(model, n).margin(progress)
    if not margin > 0:
        raise HandloomError("no proof: there are cases in which the intervals do not show the right digit to win")
    return Certificate("proof", 100**n, True, margin, "float64", "intervals over cases")


class Proof:
    """The boxes, layer by layer. `first[j]`, `second[j]`, `answer[k]` and `plus` are positions: the first and the
    second number's digit of place j, the position that outputs place k, and +. A box's dimensions in front are digits:
    its own, then others as described where they come in."""

    def __init__(self, model: Model, n: int) -> None:
        self.n, p = n, model.params
        self.layers = [LayerOfBoxes(weights, model.config.eps) for weights in p["layers"]]
        self.eps, self.W_E = model.config.eps, p["W_E"]
        stream = writes(p["W_E"]) + writes(p["W_pos"])[:, None]  # (position, token, 6)
        check_largest(np.abs(writes(p["W_E"])).sum(-1).max() + np.abs(writes(p["W_pos"])).sum(-1))
        boxes = [Box(rows, rows).wider(ROUND * LARGEST) for rows in stream]
        self.first = [boxes[n - 1 - j][:10] for j in range(n)]
        self.second = [boxes[2 * n - j][:10] for j in range(n)]
        self.plus = boxes[n][PLUS : PLUS + 1]
        self.answer = [boxes[3 * n + 1 - k][:10] for k in range(n)] + [boxes[2 * n + 1][EQUALS : EQUALS + 1]]

    def seen(self, j: int) -> list[Box]:
        """What the second number's position of place j sees besides itself, each as one box; for −1, all but the
        answer."""
        return [*(box.hull() for box in self.first), self.plus.hull(), *(b.hull() for b in self.second[j + 1 :])]

    def margin(self, progress: Progress | None = None) -> float:
        self.add_above(self.layers[0])
        self.add_own(self.layers[1])
        self.find_stop(self.layers[2])
        return self.take_carry(self.layers[3], progress)

    def add_above(self, layer: LayerOfBoxes) -> None:
        """first[j]: the own digit, and the one above. second[j]: the own digit, and the sum above (19 of them; where +
        is above, 1). answer[k]: the token, and the two digits of its place (1 and 1 where that is +)."""
        n, first, second, answer = self.n, self.first, self.second, self.answer
        hulls = [box.hull() for box in first]
        new_first = []
        for j in range(n):
            above = [first[j + 1][None]] if j + 1 < n else []
            new_first.append(layer(first[j][:, None], [*above, *hulls[j + 2 :]]))
        new_second, new_answer = [], []
        for j in range(n):
            states = layer(second[j][:, None, None], self.with_place(j + 1, self.seen(j), j + 1))
            new_second.append(by_sum(states))
        for k in range(n + 1):
            rest = [*self.seen(-1), *(box.hull() for box in answer[k + 1 :])]
            new_answer.append(layer(answer[k][:, None, None], self.with_place(k, rest, 0)))
        plus = layer(self.plus, hulls)
        self.first, self.second, self.answer, self.plus = new_first, new_second, new_answer, plus

    def with_place(self, place: int, seen: list[Box], lowest: int) -> list[Box]:
        """What is seen, when the digits of one place are known: the second and the third dimension. `seen` begins with
        the first number, +, and the second number from its place `lowest` on."""
        if place < self.n:
            seen[place] = by_own(self.first[place])[None, :, None]
            seen[self.n + 1 + place - lowest] = by_own(self.second[place])[None, None]
        return seen

    def add_own(self, layer: LayerOfBoxes) -> None:
        """second[j]: whether a nine is above (0; and 1, but for the highest place), the own digit, the first number's.
        answer[k] as before."""
        n, first, second, answer = self.n, self.first, self.second, self.answer
        new_second, new_answer = [], []
        for j in range(n):
            seen = self.seen(j)
            seen[j] = by_own(first[j])[None, None]
            states = layer(second[j][:, :, None], seen)  # own digit, sum above, first number's digit
            nine = [states[:, 9]] if j + 1 < n else []
            free = Box(np.delete(states.low, 9, 1), np.delete(states.high, 9, 1)) if nine else states
            new_second.append(stack([hull_over(free, 1), *nine]))
        for k in range(n + 1):
            rest = [*self.seen(-1), *(box.hull() for box in answer[k + 1 :])]
            new_answer.append(layer(answer[k], self.with_place(k, rest, 0)))
        hulls = [box.hull() for box in first]
        self.first = [layer(first[j], hulls[j + 1 :]) for j in range(n)]
        self.plus = layer(self.plus, hulls)
        self.second, self.answer = new_second, new_answer

    def find_stop(self, layer: LayerOfBoxes) -> None:
        """stops[j][i]: second[j] if the first place above j without a nine is i + 1; one box for each sum of j.
        answers[k][i]: answer[k] if the first such place from k on is i; its token, and the cases of its digits."""
        n, second = self.n, self.second
        hulls = [box.hull() for box in self.first]
        firsts = [*hulls, self.plus.hull()]
        self.stops: list[dict[int, list[Box]]] = []
        for j in range(n):
            self.stops.append({})
            for i in range(j, n):
                between = [second[m][1][CASES == 9].hull() for m in range(j + 1, i)]  # places j + 1 to i are nines
                stop = [second[i][0][CASES == 9].hull()] if i > j else []
                own = second[j][1 if i > j else 0]
                states = layer(own, [*firsts, *between, *stop, *(box.hull() for box in second[i + 1 :])])
                self.stops[j][i] = [states[total == CASES].hull() for total in range(19)]
        every = [*firsts, *(box.hull() for box in second)]
        nine = [self.pick(m, True) for m in range(n)]
        free = [self.pick(m, False) for m in range(n + 1)]
        self.answers: list[dict[int, Box]] = []
        for k in range(n + 1):
            self.answers.append({})
            for i in range(k, n + 1):
                between = [nine[m].hull() for m in range(k + 1, i)]
                stop = [free[i].hull()] if i > k else []
                above = [box.hull() for box in self.answer[i + 1 :]]
                self.answers[k][i] = layer(nine[k] if i > k else free[k], [*every, *between, *stop, *above])
        self.first = [layer(self.first[j].hull(), hulls[j + 1 :]) for j in range(n)]
        self.plus = layer(self.plus, hulls)

    def pick(self, k: int, nine: bool) -> Box:
        """answer[k] in the cases with or without a nine: its token, and those of its digits."""
        cases = self.cases(k, nine)
        return self.answer[k][:, *np.array(cases).T]

    def cases(self, k: int, nine: bool) -> list[tuple[int, int]]:
        if k == self.n:
            return [(0, 0)]
        return [(a, b) for a in range(10) for b in range(10) if (a + b == 9) == nine]

    def take_carry(self, layer: LayerOfBoxes, progress: Progress | None) -> float:
        """Every k, every stop of k, every place below that may make the carry, and whether it does."""
        n = self.n
        firsts = [*(box.hull() for box in self.first), self.plus.hull()]
        rows = [[box.hull() for box in self.answers[m].values()] for m in range(n + 1)]
        margins = []
        for k in range(n + 1):
            if progress:
                progress(k, n + 1)
            for t, own in self.answers[k].items():
                right = np.array([a + b for a, b in self.cases(k, t > k)])
                above = [self.any_of(m, range(m, n)) for m in range(t, n)]
                for place in range(max(k, 1)):
                    below = [self.any_of(m, range(m, place)) for m in range(place)]
                    group = [self.stops[m][t - 1][9] for m in range(place + 1, t)]
                    for carry in (0, 1) if k else (0,):
                        maker = [self.stops[place][t - 1][10:] if carry else self.stops[place][t - 1][:10]] if t else []
                        states = layer(own, [*firsts, *above, *below, *group, *maker, *rows[k + 1 :]])
                        margins.append(self.least(states, (right + carry) % 10))
        return float(np.min(margins))  # not min, which may pass over NaN

    def any_of(self, j: int, stops: range) -> list[Box]:
        """second[j] with any of these stops, and any sum: those without a carry and those with one in one box each."""
        return [stack(sums).hull() for i in stops for sums in (self.stops[j][i][:10], self.stops[j][i][10:])]

    def least(self, states: Box, right: Array) -> float:
        """The smallest margin of states (tokens, cases, 6) whose right digits are known."""
        out = norm(states, self.eps)
        margins = []
        for digit in np.unique(right):
            ahead = reads(np.delete(self.W_E[digit] - self.W_E, digit, 0).T)
            margins.append((out[:, right == digit] @ ahead).low.min())
        return float(np.min(margins)) - 2 * ROUND * NORMED * float(np.abs(self.W_E).sum(-1).max())


def by_own(states: Box) -> Box:
    """(own, ..., 6) to (own, 6)."""
    ends = ((np.min, states.low), (np.max, states.high))
    return Box(*(f(end.reshape(10, -1, end.shape[-1]), axis=1) for f, end in ends))


def by_sum(states: Box) -> Box:
    """(own, a, b, 6) to (own, a + b, 6); with only one case of a and b, to (own, 1, 6)."""
    if states.low.shape[1] == 1:
        return states[:, 0]
    boxes = [states[:, total == CASES] for total in range(19)]
    return Box(*(np.stack([f(getattr(b, end), 1) for b in boxes], 1) for f, end in ((np.min, "low"), (np.max, "high"))))
