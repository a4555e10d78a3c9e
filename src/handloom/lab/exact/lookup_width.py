"""A transformer with tied embeddings holds a random table of 100 entries if it is 13 wide, and one of 10 if 8 wide.

The Art of Transformer Programming, figure 3.8: keys of five tokens, values of one, tables at random; the matrices are
found by gradient descent. The book's widths are for all sizes of vocabulary; here it has 100 tokens, and in the full
run 10 as well. `handloom write precision` tries every size of the book, up to 1,000 entries, in minutes. Control: with
ten tokens no width holds 1,000 entries, since the scores are sums over positions; 300 entries show it sooner.
"""

from collections.abc import Sequence

from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.lookup_precision import precision_of_run
from handloom.view.figures.panels import Lines, Mark, Panel, band

CLAIM = Claim(
    name="lookup-width",
    says="a tied transformer 8 wide holds a random table of 10 entries, and one 13 wide holds 100",
    source="The Art of Transformer Programming, figure 3.8",
    seed="the book",
    number="8 wide for 10 entries, 13 wide for 100",
    quick=0.4,
    full=8,
)
MORE = 3  # a model is this much wider than the dimensions of its tokens
WIDTHS = (5, 6, 7, 8, 10, 13)
LENGTH = 5


def run(lab: Lab) -> Finding:
    vocabs = lab.pick((100,), (10, 100))
    found = {}
    for i, (entries, vocab) in enumerate([(entries, vocab) for entries in (10, 100) for vocab in vocabs]):
        lab.progress(i, 2 * len(vocabs) + 1)
        found[f"{entries} entries, {vocab} tokens"] = [right(entries, vocab, width, lab.seed) for width in WIDTHS]
    checks = [
        Check(f"{name}: right at {width} wide", values[WIDTHS.index(width)], least=1.0, said=1.0, form=".1%")
        for name, values in found.items()
        for width in [8 if name.startswith("10 entries") else 13]
    ]
    control = Check(
        "300 entries, 10 tokens, 33 wide", right(300, 10, 33, lab.seed), least=1.0, control=True, form=".1%"
    )
    return Finding([*checks, control], {"widths": list(WIDTHS), "right": found})


def right(entries: int, vocab: int, width: int, seed: int) -> float:
    """The share of entries that come out right."""
    return precision_of_run(entries, vocab, width - MORE, LENGTH, seed)


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    curves = [band(name, seeds[0]["widths"], [one["right"][name] for one in seeds]) for name in seeds[0]["right"]]
    marks = [Mark(8, "10 entries (the book)", "x"), Mark(13, "100 entries (the book)", "x")]
    return [Lines("Random tables, keys of five tokens", "width", "share of entries right", curves, marks)]
