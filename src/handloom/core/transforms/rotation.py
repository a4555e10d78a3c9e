"""Rotation: the residual stream turned by an orthogonal matrix."""

import numpy as np

from handloom.core import params as parameters
from handloom.core.arrays import Array
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.transforms.changed import READERS, WRITERS, changed, part
from handloom.core.transforms.explicit import store_positions
from handloom.core.transforms.norms import fold_norms, is_uniform


def rotate(model: Model, M: Array) -> Model:
    """Turn the residual stream by an orthogonal matrix: every position's x becomes x @ M.

    (The Art of Transformer Programming, chapter 1, exercise 8.) Weights that write into the stream are multiplied by M,
    those that read from it by Mᵀ. Exact without norms, for then M · Mᵀ = I is all that is used. Exact with RMS norm if
    the gains of each norm are equal, which `fold_norms` makes so (done here where needed; with post it cannot be). With
    layer norm it is exact only if M also keeps the vector of ones up to its sign, because the norm removes that
    direction: otherwise it raises an error, and rotate(layer_to_rms(model), M) is the way. An M that is not orthogonal
    changes lengths, which norms see, so it raises an error."""
    D = model.config.d_model
    try:
        M = np.asarray(M, np.float64)
    except (TypeError, ValueError):
        M = np.zeros(0)
    if M.shape != (D, D) or not np.allclose(M @ M.T, np.eye(D), rtol=0.0, atol=1e-9):
        raise HandloomError(f"rotate: M must be an orthogonal matrix of {D} by {D}; random_rotation makes one")
    ones = np.ones(D)
    kept = min(np.abs(ones @ M - ones).max(), np.abs(ones @ M + ones).max()) <= 1e-9
    if model.config.norm == "layer" and not kept:
        raise HandloomError(
            "rotate: layer norm subtracts the mean, and M turns the direction of the mean; "
            "use rotate(layer_to_rms(model), M), or random_rotation(..., keep_ones=True)"
        )
    model = store_positions(model)
    if not all(is_uniform(array) for name, array in model.flat.items() if parameters.is_gain(name)):
        model = fold_norms(model)
    flat = {}
    for name, array in model.flat.items():
        if part(name) in WRITERS or name.endswith(".b"):
            array = array @ M
        elif part(name) in READERS:
            array = M.T @ array
        flat[name] = array.astype(model.dtype)
    return changed(model, "rotate", flat)


def random_rotation(width: int, seed: int, keep_ones: bool = False) -> Array:
    """A random orthogonal matrix; with keep_ones one that leaves the vector of ones where it is."""
    rng = np.random.default_rng(seed)
    if not keep_ones:
        return np.linalg.qr(rng.normal(size=(width, width)))[0]
    basis = np.linalg.qr(np.column_stack([np.ones(width), rng.normal(size=(width, width - 1))]))[0]
    turn = np.eye(width)
    turn[1:, 1:] = random_rotation(width - 1, seed) if width > 1 else 0.0
    return basis @ turn @ basis.T
