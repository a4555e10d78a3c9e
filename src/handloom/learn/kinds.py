"""The kinds of models that can be trained, and the sizes that each has."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from handloom.core import Config, HandloomError

CELLS: dict[str, dict[str, int]] = {  # on torch's own modules; what a size is if not told: makemore's where it has one
    "mlp": {"d_model": 64, "d_ff": 64, "context": 16},
    **{kind: {"d_model": 64, "d_ff": 64, "layers": 1} for kind in ("rnn", "gru", "lstm")},
    "encoder-decoder": {"d_model": 64, "d_ff": 256, "layers": 2, "heads": 4},
}
KINDS: dict[str, set[str]] = {
    "transformer": {f.name for f in fields(Config)} - {"vocab", "block"},
    "bigram": set(),
    "bow": {"d_model"},
    **{kind: set(sizes) for kind, sizes in CELLS.items()},
}
SIZES = set().union(*KINDS.values())
MAKEMORE = {"layers": 4, "heads": 4, "d_model": 64, "tied": False}  # a transformer's where nothing else is given


@contextmanager
def needing_torch() -> Iterator[None]:
    """Around the imports of what is made of torch's modules."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise HandloomError(
            f"networks of cells need {error.name}, which is not installed: pip install 'handloom[learn]'"
        ) from error
