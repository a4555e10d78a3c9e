"""The figures of the book's chapter on encodings, drawn anew, and its numbers beside those measured here.

    from handloom.lab.encodings_figures import figures
    for finding in figures("encodings"):        # a folder of PNGs; takes a few seconds
        print(finding.figure, finding.book, finding.measured)

Blue is above zero, orange below, white zero, in all of them. (The Art of Transformer Programming, chapter 7.)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import HandloomError
from handloom.core.arrays import Array
from handloom.core.callbacks import Progress
from handloom.core.reference import softmax
from handloom.view.colours import BLUE, ORANGE, rgb
from handloom.view.figures.figure import matplotlib_parts
from handloom.write.parts import positions as encodings

SEEDS = 100  # draws of each random encoding
DIMENSIONS = (*range(4, 64, 4), *range(64, 257, 16))
OURS, THEIRS, GREY = "#1f5fa8", "#cc6600", "#666666"  # random rotations, sinusoids


@dataclass(frozen=True)
class BookNumber:
    """A number of the book, and what came out here. `file` is the picture that shows it, if one does."""

    figure: str
    book: str
    measured: str
    holds: bool
    file: str = ""


def figures(folder: str | Path, progress: Progress | None = None) -> list[BookNumber]:
    """Draw all figures into the folder, which is made if it is not there, and check the book's numbers."""
    make_figure()  # raises at once if Matplotlib is missing
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HandloomError(f"{place} cannot be made: {error.strerror}; choose another folder") from error
    findings: list[BookNumber] = []
    for done, (name, draw) in enumerate(FIGURES.items()):
        if progress:
            progress(done, len(FIGURES))
        picture, found = draw(f"{name}.png")
        findings += found
        try:
            picture.savefig(place / f"{name}.png", dpi=100, facecolor="white")
        except OSError as error:
            raise HandloomError(f"{place} cannot be written to: {error.strerror}; choose another folder") from error
    return findings


Drawn = tuple[Any, list[BookNumber]]  # a Matplotlib Figure


def figure_2(file: str) -> Drawn:
    """The sinusoidal encoding."""
    encoding = encodings.sinusoidal(64, 128)
    picture, axes = make_figure(7.6, 4.2)
    table(axes, encoding, "The sinusoidal encoding: fast hands on the left, hands that hardly move on the right")
    away = abs(encodings.reversed_rotation(64, encodings.sinusoidal_angles(128)) - encoding).max()
    own = softmax(encoding @ encoding.T).diagonal()
    words = f"{own.min():.4f} at the least, {own[1:-1].max():.4f} at most inside, {own[0]:.4f} at the two ends"
    return picture, [
        BookNumber("7.2, 7.5", "equals the reversed rotation", f"largest difference {away:.1g}", away < 1e-12, file),
        BookNumber("7.2.1", "softmax(MMᵀ)ᵢᵢ ≈ 0.77 (64 in 128)", words, round(float(own.min()), 2) == 0.77, file),
        hard_attention(),
        *free_space(encoding, file),
    ]


def hard_attention() -> BookNumber:
    """Two dimensions, 256 positions, queries a million times as large."""
    encoding = encodings.sinusoidal(256, 2)
    products = encoding @ encoding.T
    gap = 1 - (products - 2 * np.eye(256)).max()
    kept = softmax(1e6 * products / np.sqrt(2)).diagonal().min()
    return BookNumber(
        "7.2.1",
        "2 dimensions, 256 positions and N = 1,000,000 make hard attention",
        f"next best position is {gap:.2g} behind, times N: weight {kept:.4f} on the right one",
        bool(kept == 1),
    )


def free_space(encoding: Array, file: str) -> Iterator[BookNumber]:
    """Padding dimensions of 64 positions in 128 dimensions with noise 1e-3."""
    count = encodings.standard_padding_dimension(encoding)
    yield BookNumber("7.11", "sinusoidal: standard padding dimension 16", str(count), count == 16, file)
    least, most = encodings.euclidean_standard_padding_dimension(encoding)
    book = "lemma 7.2: so it is 16 by definition 7.7 (lengths Euclidean)"
    yield BookNumber("7.7", book, within(least, most), least <= 16 <= most, file)
    drawn = [encodings.random_rotation_encoding(64, 128, seed) for seed in range(10 * SEEDS)]
    counts = [encodings.standard_padding_dimension(one) for one in drawn]
    none = counts.count(0)
    words = f"0 in {none} of {len(drawn)} draws, at most {max(counts)}"
    yield BookNumber("7.11", "random rotation: standard padding dimension 0", words, none > 9 * SEEDS)
    theirs, ours = encodings.padding_dimension(encoding), encodings.padding_dimension(drawn[0])
    words = f"in any subspace: sinusoidal {within(*theirs)}, random {within(*ours)}"
    yield BookNumber("7.2.2", "the sinusoidal encoding has more free space", words, theirs[0] > ours[1])


def within(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def figure_6(file: str) -> Drawn:
    """The sinusoidal angles for 1024 dimensions, and the first ten positions as complex numbers."""
    angles = encodings.sinusoidal_angles(1024)
    picture, (left, right) = make_figure(9.6, 4.4, 2)
    left.plot(angles, color=THEIRS, lw=2)
    left.set(xlabel="pair of dimensions", ylabel="angle (radians a position)", xlim=(0, 511), ylim=(0, 1.02))
    left.set_title("512 angles: most are close to 0")
    colours, label = ramp(10), {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
    for a in range(10):
        hands = np.exp(1j * a * angles)
        size = 1 - 0.07 * a  # later positions further in, so that all are seen
        right.plot(size * hands.real, size * hands.imag, ".", ms=3, color=colours[a])
        right.text(size, -0.035, str(a), color=colours[a], fontsize=8, ha="center", va="top", bbox=label)
    right.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal", xticks=[], yticks=[])
    right.set_title("Positions 0 to 9, each on its own ring: 512 hands")
    small = int(np.count_nonzero(angles < 0.1))
    words = f"{len(angles)}, from {angles[0]:g} to {angles[-1]:.3g}; {small} are below 0.1"
    return picture, [BookNumber("7.6", "512 angles, many of them close to 0", words, small > 256, file)]


def figure_8(file: str) -> Drawn:
    """A random rotation."""
    encoding = encodings.random_rotation_encoding(64, 128)
    picture, axes = make_figure(7.6, 4.2)
    table(axes, encoding, "A random rotation: nearly every hand moves at every step")
    lengths = [(one**2).sum(1) for one in (encoding, encodings.sinusoidal(64, 128))]
    away = max(abs(squares - 64).max() for squares in lengths)
    _, missed = encodings.best_shift(encodings.random_rotation_encoding(256, 32))
    return picture, [
        BookNumber("theorem 7.1", "|f(a)|² = d/2 = 64", f"64, to {away:.1g}", away < 1e-9, file),
        BookNumber(
            "theorem 7.2", "a random rotation is linearly shiftable", f"misses by {missed:.1g}", missed < 1e-9, file
        ),
    ]


def figure_9(file: str) -> Drawn:
    """Distinguishability over dimensions, for 256 positions."""
    theirs = [encodings.rotation_distinguishability(encodings.sinusoidal_angles(d), 256) for d in DIMENSIONS]
    ours = np.array([drawn_distinguishability(d) for d in DIMENSIONS])  # (dimensions, seeds)
    picture, axes = make_figure(7.6, 4.4)
    axes.fill_between(DIMENSIONS, ours.min(1), ours.max(1), color=OURS, alpha=0.2, lw=0)
    axes.plot(DIMENSIONS, np.median(ours, 1), color=OURS, lw=2, label=f"random rotation ({SEEDS} draws: median, range)")
    axes.plot(DIMENSIONS, theirs, color=THEIRS, lw=2, label="sinusoidal")
    axes.axhline(0.99, color=GREY, lw=0.8, ls=":")
    axes.text(256, 0.975, "0.99", color=GREY, fontsize=8, va="top", ha="right")
    axes.set(xlabel="dimensions", ylabel="distinguishability", xlim=(0, 260), ylim=(0, 1.02))
    axes.set_title("256 positions: random angles tell them apart with far fewer dimensions")
    axes.legend(loc="lower right", frameon=False)
    return picture, [crossing(file), sinusoidal_at_256(file)]


def drawn_distinguishability(d: int) -> Array:
    draws = (encodings.random_angles(d // 2, seed) for seed in range(SEEDS))
    return np.array([encodings.rotation_distinguishability(angles, 256) for angles in draws])


def crossing(file: str) -> BookNumber:
    """From how many dimensions the random rotation is above 0.99."""
    ten = float(np.median(drawn_distinguishability(10)))
    above = {d: int(np.count_nonzero(drawn_distinguishability(d) > 0.99)) for d in range(20, 49, 2)}
    first = min(d for d, draws in above.items() if draws)
    half = min(d for d, draws in above.items() if draws > SEEDS / 2)
    every = min(d for d, draws in above.items() if draws == SEEDS)
    return BookNumber(
        "7.9",
        "random: above 0.99 from about 10 dimensions",
        f"{ten:.2f} at 10 (median); some draws are above 0.99 from {first}, most from {half}, all {SEEDS} from {every}",
        ten > 0.99,
        file,
    )


def sinusoidal_at_256(file: str) -> BookNumber:
    value = encodings.distinguishability(encodings.sinusoidal(256, 256))
    return BookNumber("7.9", "sinusoidal: 0.94 with 256 dimensions", f"{value:.4f}", abs(value - 0.94) < 0.01, file)


def figure_10(_: str) -> Drawn:
    """Sinusoidal and random, side by side."""
    picture, (left, right) = make_figure(11.5, 3.9, 2)
    table(left, encodings.sinusoidal(64, 128), "Sinusoidal: the right half is almost free")
    table(right, encodings.random_rotation_encoding(64, 128), "Random rotation: no column is free")
    return picture, []


def figure_13(file: str) -> Drawn:
    """Encodings that cannot be shifted."""
    shown = {
        "Random normal": encodings.random_normal(64, 15),
        "Random sign": encodings.random_sign(64, 15),
        "Hamming (15, 4)": encodings.hamming(4)[:64],
        "Almost balanced Hamming": encodings.balanced_hamming(4)[:64],
    }
    picture, axes = make_figure(9.6, 6.2, 4)
    missed = []
    for one, (title, encoding) in zip(axes, shown.items(), strict=True):
        table(one, encoding, title, even=False)
        missed.append(encodings.best_shift(encoding)[1])
    plain, balanced = shown["Hamming (15, 4)"], shown["Almost balanced Hamming"]
    tilt = (
        f"mean {plain.mean():.2f}, balanced {balanced.mean():.2f}; over all 2048 words {encodings.hamming(4).mean():g}"
    )
    nearest = int((15 - (plain @ plain.T - 2 * 15 * np.eye(64)).max()) / 2)
    return picture, [
        BookNumber(
            "7.13", "none is linearly shiftable", f"all miss by {min(missed):.2g} or more", min(missed) > 0.1, file
        ),
        BookNumber("7.13", "Hamming words are unbalanced (mean far from 0)", tilt, abs(plain.mean()) > 0.1, file),
        BookNumber("7.10", "Hamming guarantees a distance (3)", f"{nearest} among these 64", nearest >= 3, file),
    ]


def exercise_8(_: str) -> Drawn:
    """Evenly spaced angles: position a + d/2 is position a."""
    picture, axes = make_figure(7.6, 4.2)
    table(axes, encodings.uniform_rotation(64, 64), "Evenly spaced angles: after d/2 = 32 positions all begins again")
    axes.axhline(31.5, color="black", lw=0.8)
    values = [encodings.distinguishability(encodings.uniform_rotation(256, d)) for d in (128, 256, 512)]
    words = ", ".join(f"{value:.3f} with {d}" for d, value in zip((128, 256, 512), values, strict=True))
    return picture, [
        BookNumber("exercise 8", "evenly spaced angles are a bad idea", f"256 positions: {words}", values[0] < 0.5)
    ]


def exercise_9(_: str) -> Drawn:
    """The four plots, in the order that gives nothing away: by what row 1 of each shows of its angles."""
    picture, axes = make_figure(11.5, 7.4, 2, 2)
    shown = {
        "Sinusoidal: angles fall from 1 towards 0": encodings.sinusoidal(64, 128),
        "Random: neighbouring pairs have nothing in common": encodings.random_rotation_encoding(64, 128),
        "Random, sorted: a ragged copy of the uniform one": encodings.rotation(
            64, np.sort(encodings.random_angles(64))
        ),
        "Uniform: a mirror at the middle, waves at every fraction": encodings.uniform_rotation(64, 128),
    }
    for one, (title, encoding) in zip(axes.flat, shown.items(), strict=True):
        table(one, encoding, title)
    return picture, []


def exercise_7(_: str) -> Drawn:
    """What a window matrix looks at, with its own few angles and with random ones."""
    picture, axes = make_figure(11.5, 4.4, 3)
    k, q = 8, 64
    shown = {
        "Sum of 8 shifts: one position gets it all": (angles := encodings.random_angles(64),
                                                sum(encodings.shift(angles, -back) for back in range(k))),
        "128 dimensions, random angles": (angles, encodings.window(angles, k, q)),
        "8 dimensions, chosen angles": (own := encodings.window_angles(k, q), encodings.window(own, k, q)),
    }  # fmt: skip
    for one, (title, (angles, matrix)) in zip(axes, shown.items(), strict=True):
        encoding = encodings.rotation(q, angles)
        scores = np.where(np.tri(q, dtype=bool), 40 * encoding @ matrix @ encoding.T, -np.inf)
        one.imshow(softmax(scores), cmap=colours_of(), vmin=-1 / k, vmax=1 / k, interpolation="nearest")
        one.set(xlabel="looks at position", xticks=range(0, q, 16), yticks=range(0, q, 16))
        one.set_title(title, fontsize=10)
    axes[0].set_ylabel("position")
    return picture, []


FIGURES: dict[str, Callable[[str], Drawn]] = {
    "figure-7.2": figure_2,
    "figure-7.6": figure_6,
    "figure-7.8": figure_8,
    "figure-7.9": figure_9,
    "figure-7.10": figure_10,
    "figure-7.13": figure_13,
    "exercise-7.7": exercise_7,
    "exercise-7.8": exercise_8,
    "exercise-7.9": exercise_9,
}


def make_figure(width: float = 6, height: float = 4, columns: int = 1, rows: int = 1) -> Any:
    """A Matplotlib Figure and its axes; no window, no global state."""
    picture = matplotlib_parts()[0](figsize=(width, height), layout="constrained")
    return picture, picture.subplots(rows, columns)


def table(axes: Any, encoding: Array, title: str, even: bool = True) -> None:
    """An encoding as a picture: a row for each position, a column for each dimension."""
    largest = abs(encoding).max()
    axes.imshow(
        encoding, cmap=colours_of(), vmin=-largest, vmax=largest, interpolation="nearest", aspect=1 if even else "auto"
    )
    axes.set(xlabel="dimension", ylabel="position")
    axes.set_title(title, fontsize=10)


def colours_of() -> Any:
    """Orange, white, blue."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("handloom", np.array([rgb(ORANGE), np.ones(3), rgb(BLUE)]))


def ramp(count: int) -> list[tuple[float, ...]]:
    """Colours from orange to blue."""
    return [tuple(rgb(ORANGE) + (rgb(BLUE) - rgb(ORANGE)) * i / (count - 1)) for i in range(count)]
