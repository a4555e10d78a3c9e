"""Which engine runs a model: one small choice in one place.

An engine is a module with `forward(model, tokens, want, edits)`, a `Decoder`, and `workers(useful)`, a context in which
that many Decoders, or as many as the engine can, may run at once. One that can draw whole rows by itself has `decode`
besides. The reference needs NumPy alone; torch is imported only when it is asked for.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast, runtime_checkable

from handloom.core.errors import HandloomError, shown
from handloom.core.model import Model
from handloom.core.trace import Edits, Trace, Want

MODULES = {
    "reference": "handloom.core.reference",
    "torch": "handloom.core.torch_engine",
    "native": "handloom.core.native",
}


class Decoder(Protocol):
    """Rows of a batch that go on token by token, from what is known of them or from the beginning."""

    def advance(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> Any: ...

    def rerun(self, windows: Any, edits: Edits | None = None, last: int | None = None) -> Any: ...


class Decoding(Protocol):
    """What `generate` needs of an engine."""

    def Decoder(self, model: Any) -> Decoder: ...

    def workers(self, useful: int) -> AbstractContextManager[int]: ...


@dataclass(frozen=True)
class Draw:
    """How tokens are chosen and rows end, as `generate` is told; all of it checked."""

    stops: set[int]
    temperature: float
    top_k: int | None
    top_p: float | None
    seed: int


Texts = Sequence[Sequence[int]]


@runtime_checkable
class WholeRows(Protocol):
    """An engine that draws rows to their ends, as `generate` would, without being asked for every token."""

    def decode(
        self, model: Any, texts: Texts, limits: Sequence[int], how: Draw, report: Callable[[int], None]
    ) -> list[list[int]]: ...


class Engine(Decoding, Protocol):
    def forward(self, model: Model, tokens: Any, want: Want = (), edits: Edits | None = None) -> tuple[Any, Trace]: ...


def reason_against_native(model: Any, edits: Edits | None = None) -> str | None:
    """Why the native engine is not the one to run this; None if it is."""
    from handloom.core import native

    if edits:
        return "it takes no edits"
    if not isinstance(model, Model):
        return "it runs transformers only"
    if model.dtype == "float64":
        return "it computes in float32, and this model's weights are float64"
    return native.reason_against(model.config)


def fastest(model: Any, edits: Edits | None = None) -> str:
    """The name of the fastest engine that runs this model here."""
    if reason_against_native(model, edits) is None:
        return "native"
    return "torch" if find_spec("torch") else "reference"


def choose_engine(name: str) -> Engine:
    """The engine of that name."""
    if not isinstance(name, str) or name not in MODULES:
        raise HandloomError(f"no engine {shown(name)}; the engines are {', '.join(MODULES)}, and auto for the fastest")
    try:
        return cast(Engine, import_module(MODULES[name]))
    except ModuleNotFoundError as error:
        raise HandloomError(
            f"the {name} engine needs {error.name}, which is not installed: pip install 'handloom[learn]'"
        ) from error
