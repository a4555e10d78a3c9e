"""Sites: the named values of a run that can be recorded (`want`) and replaced (`edits`).

A number in front is the layer. Letters in a shape: T positions, S positions attended to, D model, H heads, G heads with
keys and values (H, unless heads share them), K head, F hidden (of all experts, one after the other), E experts, V
vocabulary; a batch adds dimensions in front.
"""

from fnmatch import fnmatchcase

from handloom.core.config import Config
from handloom.core.errors import HandloomError, shown

SITES_OF_A_LAYER = {
    "resid_pre": "TD",  # the residual stream before the layer
    "ln1_scale": "T",  # what the norm of the attention divides by
    "ln1": "TD",  # the norm's output
    "q": "HTK",  # queries
    "k": "GTK",  # keys
    "v": "GTK",  # values
    "rot_q": "HTK",  # queries and keys after rotary positions turned them
    "rot_k": "GTK",
    "scores": "HTS",  # q·k / √K, before the mask
    "pattern": "HTS",  # what each position attends to: softmax of the scores, or as Config.attention says
    "z": "HTK",  # pattern · values
    "result": "HTD",  # what each head adds to the residual stream
    "attn_out": "TD",  # the sum of these, with the bias; without a skip it replaces the residual stream
    "resid_mid": "TD",  # the residual stream between attention and MLP, if these are not parallel
    "ln2_scale": "T",
    "ln2": "TD",
    "gate": "TE",  # the weight of each expert: softmax of the chosen ones' logits, 0 for the others
    "mlp_pre": "TF",  # neurons before the activation; in a gated MLP their gates
    "mlp_pre_linear": "TF",  # what the gates multiply
    "mlp_post": "TF",  # neurons after the activation; those of an expert times its weight
    "mlp_out": "TD",  # what the MLP adds to the residual stream
    "resid_post": "TD",  # the residual stream after the layer
}
ATTENTION = {"q", "k", "v", "rot_q", "rot_k", "scores", "pattern", "z", "result", "ln1", "ln1_scale"}
NEURONS = {"gate", "mlp_pre", "mlp_pre_linear", "mlp_post", "ln2", "ln2_scale"}


def sites(config: Config) -> dict[str, str]:
    """Every site of a Config and the letters of its shape, in the order in which a run meets them."""
    found = {"embed": "TD"}
    if config.positions in ("table", "sinusoid"):
        found["pos_embed"] = "TD"
    for i in range(config.layers):
        found |= {f"{i}.{name}": SITES_OF_A_LAYER[name] for name in layer_order(config) if has(config, name)}
    found["resid_final"] = "TD"
    if not config.kv_heads:
        found = {name: letters.replace("G", "H") for name, letters in found.items()}
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
    if config.parallel and name.startswith("ln1"):  # attention and MLP read it
        return bool(config.heads or config.d_ff) and config.norm != "none"
    if (name in ATTENTION and not config.heads) or (name in NEURONS and not config.d_ff):
        return False
    if config.parallel and name in ("resid_mid", "ln2", "ln2_scale"):
        return False
    return not (
        (name.startswith("ln") and config.norm == "none")
        or (name.startswith("rot") and config.positions != "rotary")
        or (name == "mlp_pre_linear" and not config.gated)
        or (name == "gate" and not config.experts)
    )


def match(pattern: object, known: dict[str, str]) -> list[str]:
    """The sites that a name, or a pattern such as `*.pattern`, stands for."""
    if isinstance(pattern, str) and pattern in known:  # no need to look at all others
        return [pattern]
    found = [site for site in known if isinstance(pattern, str) and fnmatchcase(site, pattern)]
    if not found:
        raise HandloomError(f"no site {shown(pattern)} in this model; its sites are {listed(known)}")
    return found


def listed(known: dict[str, str]) -> str:
    """The names; of three or more layers only those of the first."""
    layers = {site.partition(".")[0] for site in known if "." in site}
    if len(layers) > 2:
        short = [site for site in known if "." not in site or site.startswith("0.")]
        return f"{', '.join(short)}, and the same for layers 1 to {len(layers) - 1}"
    return ", ".join(known)
