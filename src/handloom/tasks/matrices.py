"""Products, inverses and eigenvalues of small matrices, as in "Linear algebra with transformers" (Charton, 2021).

    >>> matrix_product(2, encoding="B1999").answer("V2 V2 1 E0 2 E0 3 E0 4 E0 V2 V2 0 E0 1 E0 1 E0 0 E0")
    'V2 V2 200 E-2 100 E-2 400 E-2 300 E-2'
    >>> eigenvalues(2, encoding="B1999").answer("V2 V2 0 E0 150 E-2 150 E-2 0 E0")
    'V2 V1 150 E-2 -150 E-2'

A matrix is its two dimensions, V2 V2, and its entries row by row, in one of `number_tokens.ENCODINGS`. Entries are
real, uniform in [−most, most], and rounded to the three digits that are written: the result is what NumPy computes for
the matrix as written. The oracle's answer has three digits too, and outputs near the result are right, as in the paper:
‖output − result‖ ≤ tolerance · ‖result‖, where ‖·‖ is the sum of absolute values; an inverse P of A is judged by ‖A P −
I‖ ≤ tolerance · n.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from handloom.core import HandloomError, Vocab
from handloom.core.arrays import Array
from handloom.core.checks import is_number
from handloom.core.errors import shown
from handloom.tasks.number_tokens import Encoding, encoding
from handloom.tasks.task import Ids, Task, whole_within

Shape = tuple[int, int]

LARGEST_MATRIX = 100  # as in the paper's code


def matrix_product(n: int = 2, most: float = 10.0, encoding: str = "P1000", tolerance: float = 0.05) -> Task:
    """The product of two n × n matrices, one written after the other."""
    return matrix_task(
        "matrix_product",
        f"two {n} × {n} matrices",
        n,
        most,
        encoding,
        tolerance,
        inputs=2,
        columns=n,
        draw=lambda rng: list(rng.uniform(-most, most, (2, n, n))),
        solve=lambda a, b: a @ b,
        error=relative_error,
    )


def matrix_inverse(n: int = 2, most: float = 10.0, encoding: str = "P1000", tolerance: float = 0.05) -> Task:
    """The inverse of an n × n matrix. Some inverses, rounded to three digits, are not within the tolerance; the rounded
    exact inverse always counts as right."""
    task = matrix_task(
        "matrix_inverse",
        f"one invertible {n} × {n} matrix",
        n,
        most,
        encoding,
        tolerance,
        inputs=1,
        columns=n,
        draw=lambda rng: [rng.uniform(-most, most, (n, n))],
        solve=inverse,
        error=lambda output, result, a: float(np.abs(a @ output - np.eye(n)).sum()) / n,
    )

    def draw(rng: np.random.Generator) -> Ids:
        """Few random matrices are singular, but some are, once rounded."""
        while task.oracle(question := task.draw(rng)) is None:
            pass
        return question

    return replace(task, draw=draw)


def eigenvalues(n: int = 3, most: float = 10.0, encoding: str = "P1000", tolerance: float = 0.05) -> Task:
    """The eigenvalues of a symmetric n × n matrix, the largest first."""

    def draw(rng: np.random.Generator) -> list[Array]:
        matrix = rng.uniform(-most, most, (n, n))
        return [np.tril(matrix) + np.tril(matrix, -1).T]

    return matrix_task(
        "eigenvalues",
        f"a symmetric {n} × {n} matrix",
        n,
        most,
        encoding,
        tolerance,
        inputs=1,
        columns=1,
        draw=draw,
        solve=spectrum,
        error=relative_error,
    )


def matrix_task(
    name: str,
    kind: str,
    n: int,
    most: float,
    encoding_name: str,
    tolerance: float,
    inputs: int,
    columns: int,
    draw: Callable[[np.random.Generator], list[Array]],
    solve: Callable[..., Array | None],
    error: Callable[..., float],
) -> Task:
    """A task about `inputs` n × n matrices, whose result has n rows and the given number of columns.

    `solve` gives the result for the matrices, or None; error(output, result, *matrices) is how far an output is from
    it.
    """
    whole_within(f"{name}: n", n, 1, LARGEST_MATRIX)
    code = encoding(encoding_name)
    # so that no product or eigenvalue is too large to be written, and few entries and inverses are
    for parameter, number, limit in (("most", most, code.largest**0.5 / n), ("tolerance", tolerance, 1.0)):
        if not is_number(number) or not 0.01 <= number <= limit:
            raise HandloomError(f"{name}: {parameter}={shown(number)} must be a number from 0.01 to {limit:.3g}")
    vocab = Vocab((*code.tokens, *dict.fromkeys((f"V{n}", f"V{columns}"))))
    problem = Solving([(n, n)] * inputs, code.decode(code.encode(most)) or most, solve, code, vocab)

    def oracle(question: Ids) -> Ids | None:
        found = problem.result(question)
        return None if found is None else write_matrices([found[1]], code, vocab)

    def near(question: Ids, output: Ids) -> bool:
        found, answers = problem.result(question), read_matrices(output, [(n, columns)], code, vocab)
        return found is not None and answers is not None and error(answers[0], found[1], *found[0]) <= tolerance

    example = vocab.decode(write_matrices(draw(np.random.default_rng(0)), code, vocab))
    return Task(
        takes=f"{kind} with entries from {-most:g} to {most:g}, such as {example if n < 4 else example[:60] + ' …'}",
        vocab=vocab,
        oracle=oracle,
        draw=lambda rng: write_matrices(draw(rng), code, vocab),
        near=near,
        formed=lambda output: read_matrices(output, [(n, columns)], code, vocab) is not None,
    )


@dataclass(frozen=True)
class Solving:
    """From the tokens of a question to its matrices, with entries up to `most`, and their result."""

    shapes: list[Shape]
    most: float
    solve: Callable[..., Array | None]
    code: Encoding
    vocab: Vocab

    def result(self, question: Ids) -> tuple[list[Array], Array] | None:
        """None if this is not a question, or if the result cannot be written."""
        matrices = read_matrices(question, self.shapes, self.code, self.vocab)
        if matrices is None or max(np.abs(matrix).max() for matrix in matrices) > self.most:
            return None
        result = self.solve(*matrices)
        if result is None or np.abs(result).max() >= self.code.largest:
            return None
        return matrices, result


def relative_error(output: Array, result: Array, *matrices: Array) -> float:
    """‖output − result‖ / ‖result‖; if the result is zero, only zero is right."""
    error, size = float(np.abs(output - result).sum()), float(np.abs(result).sum())
    return error / size if size else float(error > 0)


def inverse(matrix: Array) -> Array | None:
    """None if there is none. The paper's test of a good inverse: A · P is I to within 1e-10."""
    try:
        found = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    good = np.isfinite(found).all() and np.abs(matrix @ found - np.eye(len(matrix))).max() <= 1e-10
    return found if good else None


def spectrum(matrix: Array) -> Array | None:
    """The eigenvalues in one column, the largest first; None if the matrix is not symmetric."""
    return np.linalg.eigvalsh(matrix)[::-1, None] if (matrix == matrix.T).all() else None


def write_matrices(matrices: list[Array], code: Encoding, vocab: Vocab) -> Ids:
    tokens: list[str] = []
    for matrix in matrices:
        tokens += [f"V{size}" for size in matrix.shape]
        for number in matrix.ravel().tolist():
            tokens += code.encode(number)
    return [vocab.ids[token] for token in tokens]


def read_matrices(ids: Ids, shapes: list[Shape], code: Encoding, vocab: Vocab) -> list[Array] | None:
    """Matrices of exactly these shapes, or None."""
    tokens = [vocab.tokens[i] for i in ids]
    matrices, at = [], 0
    for rows, columns in shapes:
        start, at = at + 2, at + 2 + rows * columns * code.width
        numbers = [code.decode(tokens[i : i + code.width]) for i in range(start, at, code.width)]
        if tokens[start - 2 : start] != [f"V{rows}", f"V{columns}"] or None in numbers:
            return None
        matrices.append(np.array(numbers, float).reshape(rows, columns))
    return matrices if at == len(tokens) else None
