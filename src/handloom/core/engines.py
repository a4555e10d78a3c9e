"""Which engine runs a model: one small choice in one place.

An engine is a module with `forward(model, tokens, want, edits)` and a `Decoder`. An engine that generates whole rows by
itself also has `decode`; one whose Decoders may run at once has `decoders_at_once` and `pool`. The reference needs only
NumPy; torch is imported when it is first used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from handloom.core import params as parameters
from handloom.core.errors import HandloomError, shown
from handloom.core.model import Model
from handloom.core.trace import Edits, Trace, Want

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor  # few need it, and it takes a while to load

LARGE = 20_000_000  # parameters above which a float32 model is not run in float64 by default

MODULES = {
    "reference": "handloom.core.reference",
    "torch": "handloom.core.torch_engine",
    "native": "handloom.core.native",
}


class Decoder(Protocol):
    """Extends the rows of a batch token by token, from what it keeps of them or from the beginning."""

    def advance(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> Any: ...

    def rerun(self, windows: Any, edits: Edits | None = None, last: int | None = None) -> Any: ...


class DecodingEngine(Protocol):
    """What `generate` needs of an engine."""

    def Decoder(self, model: Any) -> Decoder: ...


@runtime_checkable
class InThreads(Protocol):
    """An engine whose Decoders may run at once."""

    def decoders_at_once(self, useful: int) -> int:
        """How many to run, of a number that would be useful."""

    def pool(self, count: int) -> "ThreadPoolExecutor": ...


@dataclass(frozen=True)
class TokenChoice:
    """How `generate` chooses tokens and ends rows; all of it checked."""

    stops: set[int]
    temperature: float
    top_k: int | None
    top_p: float | None
    seed: int


Texts = Sequence[Sequence[int]]


@runtime_checkable
class WholeRows(Protocol):
    """An engine that generates rows to their ends by itself, as `generate` would token by token."""

    def decode(
        self, model: Any, texts: Texts, limits: Sequence[int], choice: TokenChoice, count: Callable[[int], None]
    ) -> list[list[int]]: ...


class Engine(DecodingEngine, Protocol):
    def forward(self, model: Model, tokens: Any, want: Want = (), edits: Edits | None = None) -> tuple[Any, Trace]: ...


def reason_against_native(model: Any, edits: Edits | None = None) -> str | None:
    """Why the native engine cannot run this; None if it can."""
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


def usual_engine(model: Any, edits: Edits | None = None) -> str:
    """The name of the engine that runs a model where none is named: the reference, which is the definition; or torch,
    if it is here, for a model so large that its weights in float64 would fill gigabytes and take seconds to copy.
    Edits, whose functions are given the reference's arrays, stay with the reference."""
    large = isinstance(model, Model) and model.dtype == "float32" and parameters.size(model.config) > LARGE
    return "torch" if large and not edits and find_spec("torch") else "reference"


def choose_engine(name: str) -> Engine:
    """The engine of that name."""
    if not isinstance(name, str) or name not in MODULES:
        auto = "" if name == "auto" else ", and auto for the fastest where tokens are generated"
        raise HandloomError(f"no engine {shown(name)} here; the engines are {', '.join(MODULES)}{auto}")
    try:
        return cast(Engine, import_module(MODULES[name]))
    except ModuleNotFoundError as error:
        raise HandloomError(
            f"the {name} engine needs {error.name}, which is not installed: pip install 'handloom[learn]'"
        ) from error
