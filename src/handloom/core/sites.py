"""Sites: the named places of a run where one can look (`want`) and reach in (`edits`).

Reading is data, not hooks. A run is given the names of the sites to record and, for sites to change, a
replacement or a function; both engines send every value through a `Tap`, which does both.

    x = tap("0.resid_mid", x)      # record x if it is wanted, and go on with the edited x if there is an edit

A number in front is the layer. Letters in a shape: T positions, S positions attended to, D model, H heads,
K head, F hidden, V vocabulary; a batch adds dimensions in front.
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from handloom.core.config import Config
from handloom.core.errors import HandloomError, shown

Edit = Any  # an array that fits the site, a number, or a function of the site's value
Edits = Mapping[str, Edit]
Want = str | tuple[str, ...] | list[str] | set[str] | frozenset[str]

SITES_OF_A_LAYER = {
    "resid_pre": "TD",  # the residual stream as the layer finds it
    "ln1_scale": "T",  # what the attention's norm divides by
    "ln1": "TD",  # the norm's output
    "q": "HTK",  # queries
    "k": "HTK",  # keys
    "v": "HTK",  # values
    "rot_q": "HTK",  # queries and keys after rotary positions turned them
    "rot_k": "HTK",
    "scores": "HTS",  # q·k / √K, before the mask
    "pattern": "HTS",  # what each position attends to: softmax of the scores
    "z": "HTK",  # pattern · values
    "result": "HTD",  # what each head adds to the residual stream
    "attn_out": "TD",  # what they add together, with the bias
    "resid_mid": "TD",  # the residual stream between attention and MLP
    "ln2_scale": "T",
    "ln2": "TD",
    "mlp_pre": "TF",  # neurons before the activation
    "mlp_post": "TF",  # and after
    "mlp_out": "TD",  # what the MLP adds to the residual stream
    "resid_post": "TD",  # the residual stream as the layer leaves it
}
ATTENTION = {"q", "k", "v", "rot_q", "rot_k", "scores", "pattern", "z", "result", "ln1", "ln1_scale"}
NEURONS = {"mlp_pre", "mlp_post", "ln2", "ln2_scale"}


def sites(config: Config) -> dict[str, str]:
    """Every site of a Config and the letters of its shape, in the order in which a run meets them."""
    found = {"embed": "TD"}
    if config.positions in ("table", "sinusoid"):
        found["pos_embed"] = "TD"
    for i in range(config.layers):
        found |= {f"{i}.{name}": SITES_OF_A_LAYER[name] for name in layer_order(config) if has(config, name)}
    found["resid_final"] = "TD"
    if config.place == "pre" and config.norm != "none":
        found |= {"ln_final_scale": "T", "ln_final": "TD"}
    return found | {"logits": "TV"}


def layer_order(config: Config) -> list[str]:
    """The sites of a layer as a run meets them: a post norm comes behind the sublayer, not before it."""
    order = list(SITES_OF_A_LAYER)
    if config.place == "post":
        for norm, behind in (("ln1", "attn_out"), ("ln2", "mlp_out")):
            order = [name for name in order if not name.startswith(norm)]
            order[order.index(behind) + 1 : order.index(behind) + 1] = [norm + "_scale", norm]
    return order


def has(config: Config, name: str) -> bool:
    """Whether the layers of this Config have the site."""
    if (name in ATTENTION and not config.heads) or (name in NEURONS and not config.d_ff):
        return False
    return not (
        (name.startswith("ln") and config.norm == "none") or (name.startswith("rot") and config.positions != "rotary")
    )


class Trace(Mapping[str, Any]):
    """What a run computed, by site: only the sites asked for."""

    def __init__(self, tokens: Any) -> None:
        self.tokens = tokens
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


class Tap:
    """Through which an engine sends every value: records what is wanted, applies edits."""

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
                self.edits |= dict.fromkeys(match(pattern, known), edit)  # a site's own name comes last, and holds

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


def match(pattern: object, known: dict[str, str]) -> list[str]:
    """The sites a name or a pattern such as `*.pattern` stands for."""
    found = [site for site in known if isinstance(pattern, str) and fnmatchcase(site, pattern)]
    if not found:
        raise HandloomError(f"no site {shown(pattern)} in this model; its sites are {listed(known)}")
    return found


def listed(known: dict[str, str]) -> str:
    """The names, those of the layers beyond the first left out where there are many."""
    layers = {site.partition(".")[0] for site in known if "." in site}
    if len(layers) > 2:
        short = [site for site in known if "." not in site or site.startswith("0.")]
        return f"{', '.join(short)}, and as for layer 0 so for 1 to {len(layers) - 1}"
    return ", ".join(known)
