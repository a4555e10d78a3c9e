"""Traces: what one run computed, site by site, and edits, which change a run on the way.

Reading is data, not hooks. A run is given the names of the sites to record (`want`) and, for sites to change, a
replacement or a function (`edits`); the engines send every value through a `Tap`, which does both.

    x = tap("0.resid_mid", x)      # record x if it is wanted, and continue with the edited x if there is an edit
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from handloom.core.config import Config
from handloom.core.errors import HandloomError, shown
from handloom.core.registry import offered
from handloom.core.sites import match, sites

if TYPE_CHECKING:
    from handloom.core.model import Model
    from handloom.core.vocab import Vocab

Edit = Any  # an array that fits the site, a number, or a function of the site's value
Edits = Mapping[str, Edit]
Want = str | tuple[str, ...] | list[str] | set[str] | frozenset[str]


class Trace(Mapping[str, Any]):
    """What a run computed, by site: only the wanted sites."""

    def __init__(self, tokens: Any) -> None:
        self.tokens = tokens
        self.vocab: Vocab | None = None  # names of the tokens, for a picture
        self.values_by_site: dict[str, Any] = {}

    def __getitem__(self, site: str) -> Any:
        if site not in self.values_by_site:
            raise HandloomError(f"site {shown(site)} was not recorded; recorded: {', '.join(self) or 'nothing'}")
        return self.values_by_site[site]

    def get(self, site: str, default: Any = None) -> Any:
        return self.values_by_site.get(site, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_site)

    def __len__(self) -> int:
        return len(self.values_by_site)

    def __contains__(self, site: object) -> bool:
        return site in self.values_by_site

    def __repr__(self) -> str:
        return f"Trace({', '.join(f'{site} {tuple(value.shape)}' for site, value in self.items())})"

    def to_numpy(self) -> None:
        """Turn the values into NumPy's arrays, whichever engine computed them."""
        if hasattr(self.tokens, "cpu"):
            self.tokens = self.tokens.cpu().numpy()
            self.values_by_site = {site: value.cpu().numpy() for site, value in self.items()}

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


def trace(
    model: "Model | str", tokens: Any, want: Want = "*", edits: Edits | None = None, engine: str | None = None
) -> Trace:
    """Run a model, or the model of a name, once on a text or on token ids and record the values at the wanted sites (by
    default all). Several texts with equal numbers of tokens, or several rows of ids, add a dimension in front. By
    default the reference runs it; a large float32 model runs on torch if it is here, and its values become NumPy's."""
    from handloom.core.engines import choose_engine, usual_engine  # which are typed by what is above
    from handloom.core.finding import find

    model = find(model).model
    ids: Any = model.vocab.encode(tokens) if isinstance(tokens, str) else tokens
    if isinstance(tokens, list | tuple) and tokens and all(isinstance(text, str) for text in tokens):
        ids = [model.vocab.encode(text) for text in tokens]
        if len(lengths := {len(row) for row in ids}) > 1:
            raise HandloomError(
                f"texts that are traced together must have the same number of tokens, and these have {min(lengths)} to "
                f"{max(lengths)}; trace them one at a time"
            )
    found = choose_engine(engine or usual_engine(model, edits)).forward(model, ids, want, edits)[1]
    if engine is None:
        found.to_numpy()
    found.vocab = model.vocab
    return found


class Tap:
    """An engine sends every value through a Tap, which records what is wanted and applies edits."""

    def __init__(
        self,
        config: Config,
        tokens: Any,
        want: Want,
        edits: Edits | None,
        cast: Callable[[Any, Any], Any],
        copy: Callable[[Any], Any],
    ) -> None:
        """`cast(new, old)` gives a replacement the kind, dtype and shape of what it replaces, or raises.
        An edit that is a function gets a `copy`, so that it may work in place."""
        self.cast, self.copy = cast, copy
        self.trace = Trace(tokens)
        self.idle = not want and not edits
        self.want: set[str] = set()
        self.edits: dict[str, Edit] = {}
        if not self.idle:
            known = sites(config)
            self.want = {site for pattern in as_list(want) for site in match(pattern, known)}
            if not isinstance(edits, Mapping | None):
                raise HandloomError(f"edits={shown(edits)} must be a dict from sites to what they become")
            for pattern, edit in sorted((edits or {}).items(), key=lambda item: item[0] in known):
                self.edits |= dict.fromkeys(match(pattern, known), edit)  # a site's own name comes last, and wins

    def __call__(self, site: str, value: Any) -> Any:
        if self.idle:
            return value
        if site in self.edits:
            edit = self.edits[site]
            value = self.replace(site, edit(self.copy(value)) if callable(edit) else edit, value)
        if site in self.want:
            self.trace.values_by_site[site] = value
        return value

    def touches(self, *names: str) -> bool:
        """Whether any of these sites is wanted or edited; an engine may skip computing those that are not."""
        return not self.idle and any(name in self.want or name in self.edits for name in names)

    def replace(self, site: str, new: Any, old: Any) -> Any:
        try:
            if new is None:
                raise TypeError
            return self.cast(new, old)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            got = f"shape {tuple(new.shape)}" if hasattr(new, "shape") else shown(new)
            why = " ".join(str(error).split()) or "it gave nothing"
            raise HandloomError(
                f"the edit of {site} gave {got}; it needs numbers of shape {tuple(old.shape)} ({why})"
            ) from error


def as_list(want: Any) -> list[Any]:
    try:
        return [want] if isinstance(want, str) else list(want)
    except TypeError as error:
        raise HandloomError(f"want={shown(want)} must be the name of a site or a list of names") from error
