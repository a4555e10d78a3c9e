"""Chapter 7 of the book: every statement about encodings that can be checked with numbers, by its name."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from handloom.core import Config, HandloomError, Model, Vocab, params, trace
from handloom.core.reference import sinusoid, softmax
from handloom.write.parts.encodings import circle
from handloom.write.parts.positions import (
    balanced_hamming,
    best_shift,
    blocks,
    distinguishability,
    euclidean_standard_padding_dimension,
    hamming,
    padding_dimension,
    random_angles,
    random_normal,
    random_rotation_encoding,
    random_sign,
    reversed_rotation,
    rotation,
    rotation_distinguishability,
    shift,
    sinusoidal,
    sinusoidal_angles,
    standard_padding_dimension,
    uniform_rotation,
    window,
    window_angles,
)

seeds = st.integers(0, 10**6)


def layer_norm(x):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True))


def causal_attention(encoding, matrix, dtype=np.float64):
    encoding, matrix = encoding.astype(dtype), matrix.astype(dtype)
    scores = encoding @ matrix @ encoding.T
    return softmax(np.where(np.tri(len(encoding), dtype=bool), scores, -np.inf))


# Rotations


def test_definition_7_3_rotation_encoding():
    angles = np.array([0.5, 2.0])
    assert np.allclose(rotation(3, angles)[2], [np.cos(1), np.sin(1), np.cos(4), np.sin(4)])
    assert np.allclose(reversed_rotation(3, angles)[2], [np.sin(1), np.cos(1), np.sin(4), np.cos(4)])
    assert rotation(3, angles)[0].tolist() == [1, 0, 1, 0]


def test_definition_7_3_position_a_is_the_ath_power_of_position_1():
    hands = rotation(40, random_angles(8)).view(np.complex128)
    assert np.allclose(hands, hands[1] ** np.arange(40)[:, None])


@given(seeds, st.integers(1, 40), st.integers(1, 20))
def test_theorem_7_1_every_position_has_squared_length_half_the_dimensions(seed, q, n):
    for encoding in (random_rotation_encoding(q, 2 * n, seed), sinusoidal(q, 2 * n)):
        assert np.allclose((encoding**2).sum(1), n)


@given(seeds)
def test_lemma_7_1_a_shiftable_complex_encoding_is_shiftable_as_a_real_one(seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))[0]  # any unitary matrix, not diagonal
    hands = [rng.normal(size=3) + 1j * rng.normal(size=3)]
    for _ in range(19):
        hands.append(hands[-1] @ turn)
    encoding = np.array(hands).view(np.float64)  # (20, 6)
    real = np.kron(turn.real, np.eye(2)) + np.kron(turn.imag, [[0, 1], [-1, 0]])
    assert np.allclose(encoding[:-1] @ real, encoding[1:])


@given(seeds, st.integers(-30, 30))
def test_theorem_7_2_rotations_are_linearly_shiftable(seed, delta):
    angles = random_angles(6, seed)
    first, last = max(0, -delta), min(40, 40 - delta)
    for encode, reverse in ((rotation, False), (reversed_rotation, True)):
        encoding = encode(40, angles)
        moved = encoding[first:last] @ shift(angles, delta, reverse)
        assert np.allclose(moved, encoding[first + delta : last + delta])


def test_figure_7_4_is_the_matrix_that_shifts():
    angles, delta = random_angles(5), 7
    listing = np.zeros((10, 10))
    for i in range(5):
        listing[2 * i, 2 * i] = np.cos(angles[i] * delta)
        listing[2 * i + 1, 2 * i] = -np.sin(angles[i] * delta)
        listing[2 * i, 2 * i + 1] = np.sin(angles[i] * delta)
        listing[2 * i + 1, 2 * i + 1] = np.cos(angles[i] * delta)
    assert np.allclose(listing, shift(angles, delta), atol=1e-15)
    # for the reversed encoding, the sinusoidal one among them, it shifts the other way
    reverse = reversed_rotation(30, angles)
    assert np.allclose(reverse[delta:] @ listing, reverse[:-delta])


@given(seeds)
def test_a_block_matrix_scores_by_distance_alone(seed):
    rng = np.random.default_rng(seed)
    angles, numbers = random_angles(4, seed), rng.normal(size=4) + 1j * rng.normal(size=4)
    encoding, at = rotation(12, angles), np.arange(12)
    distance = at[:, None] - at
    expected = (numbers * np.exp(1j * distance[..., None] * angles)).real.sum(-1)
    assert np.allclose(encoding @ blocks(numbers) @ encoding.T, expected)


@pytest.mark.parametrize(("q", "d"), [(64, 128), (256, 256), (10, 4)])
def test_theorem_7_3_the_sinusoidal_encoding_is_a_reversed_rotation(q, d):
    assert np.array_equal(sinusoidal(q, d), sinusoid(np.arange(q), d))
    assert np.allclose(sinusoidal(q, d), reversed_rotation(q, sinusoidal_angles(d)), atol=1e-14)
    assert np.allclose(sinusoidal_angles(d), [1 / 10_000 ** (i / (d // 2)) for i in range(d // 2)])


@pytest.mark.parametrize("delta", [-40, -3, 0, 1, 5, 63])
def test_corollary_7_1_the_sinusoidal_encoding_is_linearly_shiftable(delta):
    moved = sinusoid(np.arange(64), 128) @ shift(sinusoidal_angles(128), delta, reverse=True)
    assert np.allclose(moved, sinusoid(np.arange(64) + delta, 128))


def test_definition_3_2_a_counter_beside_a_circle_is_only_weakly_shiftable():
    encoding = np.hstack([circle(50), np.arange(50.0)[:, None]])
    assert best_shift(encoding)[1] > 0.5
    assert best_shift(encoding @ np.eye(4)[:, :3])[1] < 1e-12


def test_definition_7_5_random_rotation():
    angles = random_angles(10_000, seed=3)
    assert 0 <= angles.min() < 0.01
    assert 2 * np.pi - 0.01 < angles.max() < 2 * np.pi
    assert np.array_equal(random_rotation_encoding(5, 6, seed=1), rotation(5, random_angles(3, seed=1)))
    assert not np.allclose(random_rotation_encoding(5, 6, seed=1), random_rotation_encoding(5, 6, seed=2))


# Norms


@pytest.mark.parametrize("d", [4, 6, 8])
def test_exercise_5_after_layer_norm_up_to_d_positions_can_be_shifted_and_more_cannot(d):
    assert best_shift(layer_norm(sinusoidal(d, d)))[1] < 1e-8
    assert best_shift(layer_norm(sinusoidal(d + 1, d)))[1] > 0.03
    assert best_shift(sinusoidal(d + 1, d))[1] < 1e-8


def test_exercise_5_with_many_positions_nothing_comes_near():
    assert abs(best_shift(layer_norm(sinusoidal(1024, 16)))[1] - 0.37) < 0.01


def test_exercise_5_the_matrix_that_shifts_8_normalised_positions_is_of_no_use():
    assert 1e5 < abs(best_shift(layer_norm(sinusoidal(8, 8)))[0]).max() < 1e6


def test_exercise_6_rms_norm_multiplies_by_the_root_of_2():
    encoding = sinusoidal(64, 128)
    rms = np.sqrt((encoding**2).mean(1, keepdims=True))
    assert np.allclose(encoding / rms, np.sqrt(2) * encoding)


def looks_back(norm, delta, D=16, block=32, tokens=5):
    """One head that looks delta positions back by the sinusoidal encoding. Tokens stand in the last two dimensions,
    where the encoding is almost (0, 1): (0, 1) is taken away, and what is left has the same length for all."""
    config = Config(
        vocab=tokens, block=block, d_model=D, layers=1, heads=1, d_head=D, norm=norm, positions="sinusoid", biases=()
    )
    weights = params.zeros(config)
    around = 2 * np.pi * np.arange(tokens) / tokens
    weights["W_E"][:, -2:] = np.stack([np.cos(around), np.sin(around) - 1], axis=1)
    weights["layers"][0]["W_Q"][0, :-2, :-2] = 1e6 * shift(sinusoidal_angles(D)[:-1], -delta, reverse=True)
    weights["layers"][0]["W_K"][0, :-2, :-2] = np.eye(D - 2)
    return Model(config, weights, Vocab.numbers(tokens))


@pytest.mark.parametrize("delta", [0, 1, 3])
def test_exercise_6_with_rms_norm_a_pre_norm_head_looks_back_and_with_layer_norm_it_does_not(delta):
    tokens = np.random.default_rng(delta).integers(0, 5, 32)
    expected = np.eye(32, k=-delta)[delta:]
    rms = trace(looks_back("rms", delta), tokens, want="0.pattern")["0.pattern"][0]
    assert np.allclose(rms[delta:], expected)
    layer = trace(looks_back("layer", delta), tokens, want="0.pattern")["0.pattern"][0]
    assert not np.allclose(layer[delta:], expected)


# Attending evenly


def even(k, q):
    """What exercise 7 asks for; the first positions have fewer than k to look at."""
    back = np.subtract.outer(np.arange(q), np.arange(q))
    wanted = ((back >= 0) & (back < k)).astype(float)
    return wanted / wanted.sum(1, keepdims=True)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("q", [20, 64])
def test_exercise_7_k_dimensions_attend_evenly_to_k_positions(k, q):
    angles = window_angles(k, q)
    assert len(angles) == (k + 1) // 2
    assert np.allclose(causal_attention(rotation(q, angles), 40 * window(angles, k, q)), even(k, q), atol=1e-6)


def test_exercise_7_the_scores_of_the_fewest_angles_are_a_product_of_sines():
    k, q = 6, 30  # for an even k the flat scores are multiples of one; for an odd k there are two dimensions of them
    angles = window_angles(k, q)
    scores = rotation(q, angles) @ window(angles, k, q) @ rotation(1, angles)[0]
    product = -np.prod(np.sin(np.pi * (np.arange(q)[:, None] - np.arange(k)) / q), axis=1)
    assert np.allclose(scores - scores[0], product / -product[k], atol=1e-8)


@pytest.mark.parametrize("k", [1, 2, 5, 16, 32])
def test_exercise_7_random_angles_do_when_there_are_as_many_dimensions_as_positions(k):
    angles = random_angles(32)
    assert np.allclose(causal_attention(rotation(64, angles), 40 * window(angles, k, 64)), even(k, 64), atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 5, 16, 32])
def test_exercise_7_random_and_uniform_angles_do_well_with_twice_as_many_dimensions(k):
    for angles in (random_angles(64), np.linspace(0, 2 * np.pi, 64, endpoint=False)):
        matrix = 40 * window(angles, k, 64)
        assert np.allclose(causal_attention(rotation(64, angles), matrix), even(k, 64), atol=1e-9)
        assert abs(matrix).max() < 9 or k > 16


@pytest.mark.parametrize(("k", "error"), [(2, 1e-5), (4, 1e-4), (8, 1e-3)])
def test_exercise_7_with_the_sinusoidal_angles_up_to_8_positions(k, error):
    angles = sinusoidal_angles(128)
    matrix = 40 * window(angles, k, 64)
    assert abs(matrix).max() > 1e9  # so near to impossible
    assert abs(causal_attention(rotation(64, angles), matrix) - even(k, 64)).max() < error / k
    reverse = causal_attention(sinusoidal(64, 128), window(angles, k, 64).T * 40)
    assert abs(reverse - even(k, 64)).max() < error / k


UNEVEN = {  # k: the largest error of a weight times k, at most: float64 and float32 with the fewest angles, then random
    2: (1e-12, 1e-3, 1e-12, 1e-4),
    4: (1e-10, 0.1, 1e-12, 1e-4),
    8: (1e-7, 10, 1e-12, 1e-4),
    16: (1e-5, 100, 1e-12, 1e-4),
}


@pytest.mark.parametrize("k", UNEVEN)
def test_exercise_7_what_the_fewest_dimensions_cost_in_precision(k):
    errors = [
        k * abs(causal_attention(rotation(64, angles), 40 * window(angles, k, 64), dtype) - even(k, 64)).max()
        for angles in (window_angles(k, 64), random_angles(64))
        for dtype in (np.float64, np.float32)
    ]
    assert all(error < most for error, most in zip(errors, UNEVEN[k], strict=True))
    assert errors[1] > 0.1 or k < 8  # in float32 the fewest angles are of no use from 8 on


@given(seeds, st.integers(1, 5))
def test_exercise_7_fewer_than_k_dimensions_are_never_enough(seed, n):
    """Scores that are equal at d + 1 distances in a row are equal at all: of 1 and d exponentials, no combination
    vanishes at d + 1 points in a row."""
    hands = np.exp(
        1j * np.outer(np.arange(2 * n + 1), np.linspace(0.3, 2.8, n) + 0.1 * np.random.default_rng(seed).random(n))
    )
    assert np.linalg.matrix_rank(np.hstack([hands.real, hands.imag, np.ones((2 * n + 1, 1))])) == 2 * n + 1
    with pytest.raises(HandloomError, match="no even look at"):
        window(random_angles(n, seed), 2 * n + 1, 40)


def test_exercise_7_a_sum_of_shifts_does_not_attend_evenly():
    for angles in (sinusoidal_angles(128), random_angles(64)):
        summed = sum(shift(angles, -back) for back in range(8))
        for hardness in (0.01, 0.1, 1, 10):
            attention = causal_attention(rotation(64, angles), hardness * summed)
            assert abs(attention - even(8, 64)).max() > 0.05
    scores = rotation(64, sinusoidal_angles(128)) @ sum(shift(sinusoidal_angles(128), -back) for back in range(8))
    assert set((scores @ rotation(64, sinusoidal_angles(128)).T)[10:60].argmax(1) - np.arange(10, 60)) <= {-3, -4}


def test_exercise_7_in_a_transformer():
    k, q, D = 3, 24, 24
    angles = random_angles(D // 2, seed=1)
    config = Config(vocab=2, block=q, d_model=D, layers=1, heads=1, d_head=D, norm="none", biases=())
    weights = params.zeros(config)
    weights["W_pos"] = rotation(q, angles)
    weights["layers"][0]["W_Q"][0] = 40 * np.sqrt(D) * window(angles, k, q)
    weights["layers"][0]["W_K"][0] = np.eye(D)
    pattern = trace(Model(config, weights, Vocab.numbers(2)), [0] * q, want="0.pattern")["0.pattern"][0]
    assert np.allclose(pattern, even(k, q), atol=1e-6)


# Distinguishability


def test_definition_7_6_distinguishability():
    assert np.isclose(distinguishability(np.eye(5)), np.e / (np.e + 4))
    assert np.isclose(distinguishability(np.array([[1.0], [2.0]])), np.e / (np.e + np.e**2))  # the least of the two


@given(seeds, st.integers(1, 30), st.integers(1, 40))
def test_distinguishability_of_a_rotation_needs_only_the_distances(seed, n, q):
    angles = random_angles(n, seed)
    assert np.isclose(rotation_distinguishability(angles, q), distinguishability(rotation(q, angles)))


def test_section_7_2_1_077_is_what_every_position_but_the_two_ends_keeps():
    encoding = sinusoidal(64, 128)
    own = softmax(encoding @ encoding.T).diagonal()
    assert round(distinguishability(encoding), 4) == 0.7693
    assert np.allclose(own[1:-1], 0.77, atol=0.001)
    assert np.allclose(own[[0, -1]], 0.8696, atol=1e-4)


def test_figure_7_9_the_sinusoidal_encoding_with_256_dimensions():
    assert round(distinguishability(sinusoidal(256, 256)), 4) == 0.9466


def test_figure_7_9_random_rotations_pass_099_at_26_to_38_dimensions_not_at_10():
    at = {d: np.array([rotation_distinguishability(random_angles(d // 2, seed), 256) for seed in range(100)])
          for d in (10, 24, 26, 28, 36, 38)}  # fmt: skip
    assert round(float(np.median(at[10])), 2) == 0.15
    assert at[10].max() < 0.2
    above = {d: int(np.count_nonzero(values > 0.99)) for d, values in at.items()}
    assert above[24] == 0 < above[26] < 50 < above[28]
    assert above[36] < above[38] == 100


def test_section_7_2_1_two_dimensions_and_a_million_make_attention_hard():
    encoding = sinusoidal(256, 2)
    products = encoding @ encoding.T
    assert (products[0] - np.eye(256)[0]).argmax() == 44  # almost seven turns
    assert round(1 - products[0, 44], 5) == 0.00016
    assert softmax(1e6 * products / np.sqrt(2)).diagonal().min() == 1
    assert softmax(1e3 * products / np.sqrt(2)).diagonal().min() < 0.6


@pytest.mark.parametrize(("q", "d"), [(64, 128), (40, 128), (256, 128), (256, 256), (256, 512), (100, 64), (7, 6)])
def test_exercise_8_uniform_angles_repeat_after_half_the_dimensions(q, d):
    n = d // 2
    same = -(-q // n)  # positions that look alike, where there are most
    assert np.isclose(distinguishability(uniform_rotation(q, d)), 1 / (same + (q - same) * np.exp(-float(n))))
    assert np.allclose(uniform_rotation(q + n, d)[n:], uniform_rotation(q, d))


def which(encoding):
    """Exercise 9: row 0 of a rotation encoding tells whether sines come first, and row 1 is its angles."""
    hands = encoding[1].view(np.complex128)
    angles = np.angle(hands if encoding[0, 0] else 1j * hands.conj()) % (2 * np.pi)
    steps = np.diff(angles)
    if np.allclose(steps, steps[0]):
        return "uniform"
    return "sorted" if (steps > 0).all() else "random" if (steps > 0).any() else "sinusoidal"


def test_exercise_9_which_is_which():
    assert which(uniform_rotation(64, 128)) == "uniform"
    assert which(sinusoidal(64, 128)) == "sinusoidal"
    for seed in range(20):
        assert which(random_rotation_encoding(64, 128, seed)) == "random"
        assert which(rotation(64, np.sort(random_angles(64, seed)))) == "sorted"


def test_exercise_9_the_uniform_picture_is_its_own_mirror():
    hands = uniform_rotation(64, 128).view(np.complex128)
    assert np.allclose(hands[:, 1:], hands[:, :0:-1].conj())  # columns, around angle π
    assert np.allclose(hands[1:], hands[:0:-1].conj())  # rows
    assert np.allclose(hands, hands.T)


# Free space


def test_lemma_7_2_with_the_largest_entry_as_size():
    rng = np.random.default_rng(0)
    for _ in range(20):
        encoding = rng.normal(size=(4, 5)) * 10.0 ** rng.uniform(-4, 0, 5)
        best = 0
        for size in range(1, 6):
            for columns in map(list, itertools.combinations(range(5), size)):
                chosen = encoding[:, columns]
                centre = (chosen.max(0) + chosen.min(0)) / 2
                best = size if abs(chosen - centre).max() <= 1e-2 else best
        assert standard_padding_dimension(encoding, 1e-2) == best


def test_lemma_7_2_does_not_hold_with_euclidean_length():
    corners = 1e-3 * np.array(list(itertools.product([-1.0, 1.0], repeat=2)))
    assert standard_padding_dimension(corners, 1e-3 + 1e-12) == 2
    assert euclidean_standard_padding_dimension(corners, 1e-3 + 1e-12) == (1, 1)
    assert padding_dimension(corners, 1e-3 + 1e-12) == (1, 1)


def test_figure_7_11_standard_padding_of_64_positions_in_128_dimensions():
    assert standard_padding_dimension(sinusoidal(64, 128)) == 16
    assert standard_padding_dimension(sinusoidal(64, 128)[:, 1::2]) == 16  # cosines, all of them
    assert euclidean_standard_padding_dimension(sinusoidal(64, 128)) == (14, 14)
    counts = [standard_padding_dimension(random_rotation_encoding(64, 128, seed)) for seed in range(200)]
    assert counts.count(0) > 190


def test_definition_7_7_padding_of_64_positions_in_128_dimensions():
    assert padding_dimension(sinusoidal(64, 128)) == (105, 105)
    assert padding_dimension(random_rotation_encoding(64, 128)) == (65, 65)
    assert padding_dimension(random_rotation_encoding(256, 128)) == (0, 0)


@given(seeds, st.integers(1, 12), st.integers(2, 12))
def test_definition_7_7_any_encoding_has_padding_d_minus_q_plus_1_without_noise(seed, q, d):
    assert padding_dimension(random_normal(q, d, seed), noise=0) == (max(0, d - q + 1),) * 2


@given(seeds)
def test_definition_7_7_padding_does_not_depend_on_the_axes(seed):
    rng = np.random.default_rng(seed)
    rotation = random_rotation_encoding(30, 4, seed)
    assume(padding_dimension(rotation, 1e-4) == (0, 0))  # one that turns hardly at all has padding of its own
    encoding = np.hstack([rotation, np.full((30, 3), 7.0), rng.uniform(-1e-5, 1e-5, (30, 2))])
    turned = encoding @ np.linalg.qr(rng.normal(size=(9, 9)))[0]
    assert standard_padding_dimension(encoding, 1e-4) == 5
    assert standard_padding_dimension(turned, 1e-4) == 0
    assert padding_dimension(turned, 1e-4) == (5, 5)


@given(seeds, st.floats(0.1, 2))
def test_definition_7_7_the_bounds_hold_for_lines_in_the_plane(seed, noise):
    encoding = random_normal(5, 2, seed)
    around = np.linspace(0, np.pi, 2000)
    narrowest = np.ptp(encoding @ np.stack([np.cos(around), np.sin(around)]), axis=0).min() / 2
    least, most = padding_dimension(encoding, noise)
    assert least <= most
    if abs(narrowest - noise) > 1e-3:
        assert (least >= 1) <= (narrowest <= noise) <= (most >= 1)


# Encodings that cannot be shifted


def test_definitions_7_8_and_7_9_random_normal_and_random_sign():
    normal, signs = random_normal(1000, 100), random_sign(1000, 100)
    assert abs(normal.mean()) < 0.02
    assert abs(normal.var() - 1) < 0.03
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.02
    for drawn in (normal, signs):
        assert abs(np.corrcoef(drawn[:, :10].T) - np.eye(10)).max() < 0.2


def listing_7_14(r):
    """The book's own way, in its own order."""
    words = [word for word in itertools.product([1, 0], repeat=r) if any(word)]
    H = np.array(sorted(words, key=lambda word: word.count(1))).T
    k = 2**r - 1 - r
    G = np.concatenate((np.eye(k), H[:, r:].T), axis=1)
    return (np.array(list(itertools.product([0, 1], repeat=k))) @ G % 2) * 2 - 1


@pytest.mark.parametrize("r", [2, 3, 4])
def test_definition_7_10_hamming_words_are_the_listings_and_a_perfect_code(r):
    words, n = hamming(r), 2**r - 1
    assert np.array_equal(words, listing_7_14(r))
    assert len(words) == 2 ** (n - r)
    apart = (n - words @ words.T) / 2
    assert apart[~np.eye(len(words), dtype=bool)].min() == 3
    assert len(words) * (n + 1) == 2**n  # so every vector of signs is a word, or one step away from exactly one


@pytest.mark.parametrize("r", [2, 3, 4])
def test_definition_7_10_the_level_of_distinguishability_that_hamming_guarantees(r):
    """1 / W(e⁻²), W counting the words by weight: W(x) = ((1+x)^n + n (1+x)^((n−1)/2) (1−x)^((n+1)/2)) / (n+1)."""
    n, x = 2**r - 1, np.exp(-2.0)
    weights = ((1 + x) ** n + n * (1 + x) ** ((n - 1) // 2) * (1 - x) ** ((n + 1) // 2)) / (n + 1)
    assert np.isclose(distinguishability(hamming(r)), 1 / weights)
    assert r != 4 or round(1 / weights, 3) == 0.884


def test_balanced_hamming():
    words = balanced_hamming(4)
    assert len(words) == 870
    assert set(words.sum(1)) == {-1, 1}
    assert {*map(tuple, words)} <= {*map(tuple, hamming(4))}
    assert hamming(4).mean() == 0
    assert np.isclose(hamming(4)[:64].mean(), -1 / 3)
    assert abs(words[:64].mean()) < 0.02


@pytest.mark.parametrize(
    "encoding", [random_normal(64, 15), random_sign(64, 15), hamming(4)[:64], balanced_hamming(4)[:64]]
)
def test_figure_7_13_these_are_not_linearly_shiftable(encoding):
    assert best_shift(encoding)[1] > 1.85


@given(seeds)
def test_independent_rows_can_always_be_shifted(seed):
    assert best_shift(random_normal(16, 15, seed))[1] < 1e-6
    assert best_shift(random_normal(17, 15, seed))[1] > 1e-6


# Pictures and refusals


def test_the_figures_and_the_two_numbers_that_do_not_hold(tmp_path):
    pytest.importorskip("matplotlib")
    from handloom.lab.encodings_figures import FIGURES, figures

    told = []
    findings = figures(tmp_path / "new", lambda done, most: told.append((done, most)))
    assert told == [(i, len(FIGURES)) for i in range(len(FIGURES))]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(f"{name}.png" for name in FIGURES)
    for path in (tmp_path / "new").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000
    assert {finding.file for finding in findings} <= {f"{name}.png" for name in FIGURES} | {""}
    assert [finding.figure for finding in findings if not finding.holds] == ["7.7", "7.9"]
    (tmp_path / "file").touch()
    with pytest.raises(HandloomError, match=r"file cannot be made: .*; choose another folder"):
        figures(tmp_path / "file")


def test_without_matplotlib_the_figures_say_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from handloom.lab.encodings_figures import figures\n"
        f"figures({str(tmp_path / 'made')!r})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "a figure needs Matplotlib, which is not installed: pip install" in run.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: sinusoidal(5, 3), "d=3 is odd, .*: make d even"),
        (lambda: random_rotation_encoding(5, 0), "d=0 must be a whole number of at least 2"),
        (lambda: hamming(1), "hamming: r=1 must be a whole number of at least 2"),
        (lambda: hamming(5), "r=5 makes 2.26 rows; r may be 2, 3 or 4"),
        (lambda: balanced_hamming(2), "balanced_hamming: r=2 must be a whole number of at least 3"),
        (lambda: window(random_angles(4), 8, 8), "k=8 must be at least 1 and less than q=8"),
        (lambda: window(sinusoidal_angles(128), 16, 64), "no even look at 16 of 64 positions was found"),
    ],
)
def test_impossible_encodings_are_refused(make, complaint):
    with pytest.raises(HandloomError, match=complaint):
        make()


# Exercise 11


def three_back(rng, shape):
    """Every token is answered by the token three before it."""
    tokens = rng.integers(0, 8, shape)
    answers = np.full(shape, -100)
    answers[:, 3:] = tokens[:, :-3]
    return tokens, answers


def majority(rng, shape):
    """Which of two tokens there were more of among the last nine."""
    tokens = rng.integers(0, 2, shape)
    sums = np.cumsum(np.pad(tokens, ((0, 0), (9, 0))), axis=1)
    answers = np.full(shape, -100)
    answers[:, 8:] = (sums[:, 9:] - sums[:, :-9] > 4)[:, 8:]
    return tokens, answers


def train(encoding, task, seed, steps, enough=2.0):
    """A post-norm layer with fixed positions; the accuracy after that many steps, or the steps when it is enough."""
    import torch

    from handloom.core.torch_engine import compute, tensors

    T, D = encoding.shape
    config = Config(
        vocab=8, block=T, d_model=D, layers=1, heads=4, d_head=D // 4, d_ff=2 * D, place="post", activation="relu"
    )
    weights = params.random(config, seed=seed, scale=0.1)
    weights["W_E"], weights["W_pos"] = 10 * weights["W_E"], encoding
    leaves = tensors(Model(config, weights, Vocab.numbers(8)), torch.float32, "cpu", grad=True)
    trained = [tensor for name, tensor in params.flatten(leaves).items() if name != "W_pos"]
    adam, rng, right = torch.optim.Adam(trained, lr=5e-3), np.random.default_rng(seed), []
    for step in range(1, steps + 1):
        tokens, answers = task(rng, (64, T))
        answers = torch.tensor(answers)
        logits = compute(config, leaves, tokens)[0]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), answers.flatten(), ignore_index=-100)
        adam.zero_grad()
        loss.backward()
        adam.step()
        right.append((logits.argmax(-1) == answers)[answers >= 0].double().mean().item())
        if right[-1] >= enough:
            return step
    return float(np.mean(right[-10:]))


@pytest.mark.slow
def test_exercise_11_post_norm_learns_to_look_three_back_sooner_with_a_random_rotation():
    theirs = [train(sinusoidal(32, 32), three_back, seed, 600, enough=0.9) for seed in range(3)]
    ours = [train(random_rotation_encoding(32, 32, seed), three_back, seed, 600, enough=0.9) for seed in range(3)]
    print("steps to 90 %: sinusoidal", theirs, "random", ours)
    assert max(ours) < min(theirs) <= max(theirs) < 600


@pytest.mark.slow
def test_exercise_11_for_a_majority_the_two_encodings_are_alike():
    theirs = [train(sinusoidal(32, 32), majority, seed, 150) for seed in range(3)]
    ours = [train(random_rotation_encoding(32, 32, seed), majority, seed, 150) for seed in range(3)]
    print("accuracy after 150 steps: sinusoidal", theirs, "random", ours)
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.05
