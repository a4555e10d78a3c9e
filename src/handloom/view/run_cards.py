"""What a notebook shows of how one run comes about: paths, shares, the logit lens and direct attribution."""

from collections.abc import Callable
from typing import Any

from handloom.read import Attribution, Lens, Paths, Shares
from handloom.view.pages.skeleton import figure, line
from handloom.view.svg.contributions import attribution_drawing, lens_drawing, paths_drawing, shares_drawing


def paths_card(paths: Paths) -> str:
    """The largest paths, and the sums by number of heads."""
    heads = str(paths).splitlines()[-1].capitalize()
    doubt = "" if paths.proven else ", larger ones may be missing"
    return (
        f"<h3>Paths</h3><p>{line(paths.target)}; {paths.count:,} paths{doubt}</p>{figure(paths_drawing(paths))}"
        f'<p class="soft">{line(heads)}</p>'
    )


def shares_card(shares: Shares) -> str:
    words = "From whom each receiver reads: a column sums to 1, orange is below 0."
    return f'<h3>Shares</h3><p class="soft">{words}</p>{figure(shares_drawing(shares))}'


def lens_card(lens: Lens) -> str:
    words = "The likeliest token at each site" if lens.answer is None else f"How likely {lens.answer} is at each site"
    return f'<h3>Logit lens</h3><p class="soft">{line(words)}, the output at the top.</p>{figure(lens_drawing(lens))}'


def attribution_card(attribution: Attribution) -> str:
    return f"<h3>Attribution</h3><p>{line(attribution.target)}</p>{figure(attribution_drawing(attribution))}"


RUN_CARDS: dict[str, Callable[[Any], str]] = {
    "Paths": paths_card,
    "Shares": shares_card,
    "Lens": lens_card,
    "Attribution": attribution_card,
}
