"""Encodings: tables (q, d) whose row a stands for position a, or for token a, and what can be measured of them.

    >>> from handloom.write.parts.positions import *
    >>> turned = random_rotation_encoding(64, 128) @ shift(random_angles(64), 3)  # every position, moved on by three
    >>> bool(abs(turned - random_rotation_encoding(67, 128)[3:]).max() < 1e-12)
    True
    >>> round(distinguishability(sinusoidal(64, 128)), 2)
    0.77

A rotation encoding turns one hand for each angle: position a has its hands at a · angles, each written as its cosine
and its sine. The sinusoidal encoding of Vaswani et al. is one of them, with sine and cosine exchanged. Three things
matter in an encoding: whether one matrix moves all positions (`best_shift`), how well a position finds itself by a
dot product (`distinguishability`), and how much room it leaves (`padding_dimension`). Proofs, and the numbers of the
book beside those measured here, are in docs/book/chapter7.md. (The Art of Transformer Programming, chapter 7.)
"""

from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.checks import whole
from handloom.core.reference import sinusoid, softmax

FLAT = 1e-3  # how uneven a window's scores may be, relative to the step at its edge


def sinusoidal(q: int, d: int) -> Array:
    """Vaswani et al. 2017, which the book calls the OG encoding."""
    pairs(d)
    return sinusoid(np.arange(q), d)


def sinusoidal_angles(d: int) -> Array:
    """From 1 down to almost 1/10000, each the same share of the one before (theorem 7.3)."""
    angles: Array = 10_000.0 ** (-np.arange(pairs(d)) * 2 / d)
    return angles


def rotation(q: int, angles: Any) -> Array:
    """Row a is (cos aθ₁, sin aθ₁, cos aθ₂, sin aθ₂, …) (definition 7.3)."""
    hands = np.exp(1j * np.outer(np.arange(q), angles))  # (q, d/2)
    return np.stack([hands.real, hands.imag], axis=-1).reshape(q, -1)


def reversed_rotation(q: int, angles: Any) -> Array:
    """The same with each sine in front of its cosine."""
    return rotation(q, angles).reshape(q, -1, 2)[..., ::-1].reshape(q, -1)


def random_angles(n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(0, 2 * np.pi, n)


def random_rotation_encoding(q: int, d: int, seed: int = 0) -> Array:
    """Angles drawn from [0, 2π) (definition 7.5)."""
    return rotation(q, random_angles(pairs(d), seed))


def uniform_rotation(q: int, d: int) -> Array:
    """Angles evenly spaced around the circle; position a + d/2 is position a again (exercise 8)."""
    return rotation(q, np.linspace(0, 2 * np.pi, pairs(d), endpoint=False))


def random_normal(q: int, d: int, seed: int = 0) -> Array:
    """Definition 7.8."""
    return np.random.default_rng(seed).normal(size=(q, d))


def random_sign(q: int, d: int, seed: int = 0) -> Array:
    """Definition 7.9."""
    return np.random.default_rng(seed).choice([-1.0, 1.0], (q, d))


def hamming(r: int) -> Array:
    """The words of the Hamming code with r check bits, as signs: q = 2^(n−r) rows of n = 2^r − 1, any two of which
    differ in at least three places (definition 7.10). Row a begins with the bits of a, and ends with the checks."""
    if whole("hamming: r", r, 2) > 4:
        raise HandloomError(f"hamming: r={r} makes 2^{2**r - 1 - r} rows; r may be 2, 3 or 4")
    k = 2**r - 1 - r
    columns = sorted(range(1, 2**r), key=lambda number: (number.bit_count(), -number))
    checks = bits(np.array(columns[r:]), r)  # (k, r): one check word for each bit, of two ones or more
    messages = bits(np.arange(2**k), k)
    return 2.0 * np.hstack([messages, messages @ checks % 2]) - 1.0


def balanced_hamming(r: int) -> Array:
    """Those of its words with almost as many +1 as −1: n is odd, and they differ by one."""
    words = hamming(whole("balanced_hamming: r", r, 3))  # with r = 2 there are none
    return words[abs(words.sum(1)) == 1]


def bits(numbers: Any, width: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The binary digits (..., width), the largest first."""
    return numbers[..., None] >> np.arange(width)[::-1] & 1


def pairs(d: int) -> int:
    if whole("the number of dimensions d", d, 2) % 2:
        raise HandloomError(f"d={d} is odd, and a rotation encoding takes two dimensions for each angle: make d even")
    return d // 2


def shift(angles: Any, delta: float, reverse: bool = False) -> Array:
    """The matrix that moves every position of a rotation encoding: f(a) @ shift(angles, delta) = f(a + delta)
    (theorem 7.2, lemma 7.1). With `reverse`, for the reversed one."""
    matrix = blocks(np.exp(1j * delta * np.asarray(angles)))
    return matrix.T if reverse else matrix


def blocks(numbers: Any) -> Array:
    """Complex numbers (n,) as a matrix (2n, 2n) that multiplies each hand by its own. For a rotation encoding f,
    f(i) @ blocks(c) @ f(j) = Re Σ c e^(iθ(i − j)): a score that depends on the distance alone."""
    numbers = np.asarray(numbers, np.complex128)
    matrix = np.zeros((2 * len(numbers), 2 * len(numbers)))
    for i, number in enumerate(numbers):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[number.real, number.imag], [-number.imag, number.real]]
    return matrix


def window(angles: Any, k: int, q: int) -> Array:
    """A matrix M that looks evenly at the last k of up to q positions: f(i) @ M @ f(j) is the same for
    i − k < j ≤ i and less by at least 1 for 0 ≤ j ≤ i − k, f being the rotation encoding of these angles (exercise 7).
    Later positions are left to the causal mask. Multiply M by what makes the softmax as hard as you want it.

    The scores that are flat in the window are a linear space; of these the one nearest to a step is taken."""
    if not 1 <= k < q:
        raise HandloomError(f"window: k={k} must be at least 1 and less than q={q}")
    hands = np.exp(1j * np.outer(np.arange(q), angles))
    scores = np.hstack([hands.real, -hands.imag])  # (q, d): what each coefficient gives at each distance
    scores = scores - scores[0]  # a constant makes no difference to a softmax
    flat = null_space(scores[1:k])
    coefficients = flat @ np.linalg.lstsq(scores[k:] @ flat, -np.ones(q - k), rcond=1e-12)[0]
    shape = scores @ coefficients
    step = -shape[k:].max()
    if not abs(shape[:k]).max() < FLAT * step:
        raise HandloomError(
            f"window: no even look at {k} of {q} positions was found with these {hands.shape[1]} angles; "
            f"window_angles({k}, {q}) has some that do, if k is not too large for the precision of float64"
        )
    real, imaginary = np.split(coefficients / step, 2)
    return blocks(real + 1j * imaginary)


def window_angles(k: int, q: int) -> Array:
    """The fewest angles with which `window` is possible, k dimensions or k + 1 if k is odd. Up to a constant, they
    make the score −∏ sin(π(n − j)/q) over j = 0 … k − 1, which is 0 at distances n < k and negative for k ≤ n < q."""
    angles: Array = np.pi / q * np.arange(2.0 - k % 2, k + 1, 2)
    return angles


def null_space(matrix: Array) -> Array:
    """An orthonormal basis, as columns, of what the matrix sends to 0."""
    if not len(matrix):
        return np.eye(matrix.shape[1])
    _, sizes, directions = np.linalg.svd(matrix)
    return directions[np.count_nonzero(sizes > 1e-13 * sizes[0]) :].T.astype(np.float64)


def best_shift(encoding: Array, delta: int = 1) -> tuple[Array, float]:
    """The matrix that comes nearest to moving every position by delta, in least squares, and by how much it misses at
    worst in one coordinate: 0, but for rounding, if the encoding is linearly shiftable by delta (definition 3.1)."""
    before, after = encoding[:-delta], encoding[delta:]
    matrix = np.linalg.lstsq(before, after, rcond=None)[0].astype(np.float64)
    return matrix, float(abs(before @ matrix - after).max())


def distinguishability(encoding: Array) -> float:
    """How much of its attention a position gives to itself when queries and keys are the encoding, at the position
    where that is least (definition 7.6)."""
    return float(softmax(encoding @ encoding.T).diagonal().min())


def rotation_distinguishability(angles: Any, q: int) -> float:
    """The same for a rotation encoding, whose products depend on the distance alone: no q by q matrix."""
    products = np.cos(np.outer(np.arange(1, q), angles)).sum(1) - len(angles)  # at distance n, less that with itself
    aside = np.concatenate([[0.0], np.cumsum(np.exp(products))])  # the weight of the n positions next on one side
    return float(1 / (1 + (aside + aside[::-1]).max()))


def standard_padding_dimension(encoding: Array, noise: float = 1e-3) -> int:
    """How many columns stay within `noise` of a constant (lemma 7.2). That is definition 7.7 if the size of a vector is
    its largest entry."""
    return int(np.count_nonzero(np.ptp(encoding, axis=0) <= 2 * noise))


def euclidean_standard_padding_dimension(encoding: Array, noise: float = 1e-3) -> tuple[int, int]:
    """How many columns together stay within `noise` of one vector, in Euclidean length: at least and at most.

    Within a box around them all: half its diagonal bounds the distance. And no two rows may be 2 · noise apart."""

    def fit(squares: Array) -> int:
        """How many of them together are no more than (2 · noise)², in the row where these are fewest."""
        return int(np.count_nonzero(np.cumsum(np.sort(squares), -1) <= (2 * noise) ** 2, -1).min())

    return fit(np.ptp(encoding, axis=0, keepdims=True) ** 2), min(fit((encoding - row) ** 2) for row in encoding)


def padding_dimension(encoding: Array, noise: float = 1e-3) -> tuple[int, int]:
    """The dimension of the largest subspace in which all rows stay within `noise` of one vector, in Euclidean length
    (definition 7.7): at least and at most. Where the two agree it is exact.

    Among subspaces of dimension k, that of the smallest singular values of the centred encoding has the least mean
    square distance. If even that is above noise² there is no such subspace; if no row of it is farther than noise,
    there is one. With noise 0 it is d minus the rank of the centred encoding, so at least d − q + 1."""
    centred = encoding - encoding.mean(0)
    across = (centred @ np.linalg.svd(centred)[2].T)[:, ::-1]  # (q, d), the least direction first
    distances = np.cumsum(across**2, axis=1)  # squared, of each row in the first k directions
    allowed = noise**2 + 1e-24 * distances.max()  # rounding
    return int(np.count_nonzero(distances.max(0) <= allowed)), int(np.count_nonzero(distances.mean(0) <= allowed))
