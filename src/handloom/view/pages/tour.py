"""The tour: what handloom can do, each stop a few lines of Python that are run as they are shown.

A new capability adds its stop to STOPS. `page` makes one HTML file of what a tour has shown.
"""

import contextlib
import importlib.util
import io
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from handloom.core import trace
from handloom.view.svg.heatmap import heatmap
from handloom.write import program


@dataclass(frozen=True)
class Stop:
    title: str
    words: str
    code: str
    needs: str = ""  # a package that the light base does not bring


@dataclass(frozen=True)
class Shown:
    stop: Stop
    output: str


STOPS = (
    Stop(
        "A transformer, programmed by hand",
        "Seventy-two numbers, set because one knows why, and an ordinary decoder prints a message.",
        """
import handloom as hl
import numpy as np

model = hl.program("hello")
print(model())
print(hl.count(model))
""",
    ),
    Stop(
        "Look inside",
        "A run can record any of its sites. Here: how sure every position is of the token that comes next.",
        """
ids = model.vocab.encode("Hello World!")
for token, logits in zip(ids, hl.trace(model, ids)["logits"]):
    second, best = logits.argsort()[-2:]
    here, there = model.vocab.tokens[token], model.vocab.tokens[best]
    lead = logits[best] - logits[second]
    print(f"{here!r:>8} → {there!r:<8} leads by {lead:.3f}")
""",
    ),
    Stop(
        "Reach in",
        "An edit replaces what a site computes. Without its positions this model can only repeat what it reads.",
        """
print(model("Hell", edits={"pos_embed": 0.0}))
""",
    ),
    Stop(
        "Attention, programmed",
        "Two layers find where the last three tokens stood before, and say what followed. Watch them look there.",
        """
search = hl.program("search")
print(search("1 2 3 4 5 6 1 2 3"))
pattern = hl.trace(search, "1 2 3 4 5 6 1 2 3")["1.pattern"]
print("the last position looks at", pattern[0, -1].round(3))
""",
    ),
    Stop(
        "Right, and known to be",
        "A certificate holds a program against an oracle. This adder has 553 parameters; the book's has 360,576.",
        """
adder = hl.program("addition:digits=3")
print(adder("045+978="), hl.count(adder))
print(hl.certify(adder, samples=2000))
print(hl.certify(hl.program("min:n=5")))
""",
    ),
    Stop(
        "Any transformer",
        "A Config chooses sizes, norms, positions, activations. This one is GPT-2's family, drawn at random.",
        """
config = hl.Config(vocab=27, block=64, d_model=32,
                   layers=2, heads=4, d_head=8, d_ff=128)
weights = hl.params.random(config, seed=0, scale=0.3)
wild = hl.Model(config, weights, hl.Vocab.numbers(27))
print(wild)
print(wild("3 1 4 1 5", steps=8))
print(wild("3 1 4 1 5", steps=8, temperature=1.0, seed=7))
""",
    ),
    Stop(
        "Two engines, one function",
        "The reference, NumPy in float64, defines what a transformer computes; torch computes the same in batches.",
        """
reference = hl.trace(wild, "3 1 4 1 5")
torch = hl.trace(wild, "3 1 4 1 5", engine="torch")
for site in ("0.pattern", "1.mlp_post", "logits"):
    difference = np.abs(torch[site].cpu().numpy() - reference[site]).max()
    print(f"{site:<12} differs by less than 1e-12: {difference < 1e-12}")
""",
        needs="torch",
    ),
    Stop(
        "Change it, and it stays the same",
        "Turn the residual stream by a random rotation: every weight changes, the function does not.",
        """
M = hl.transforms.random_rotation(32, seed=1)
turned = hl.transforms.rotate(hl.transforms.layer_to_rms(wild), M)
weights = np.abs(turned.params["W_E"] - wild.params["W_E"]).max()
before, after = (hl.trace(m, "3 1 4 1 5")["logits"] for m in (wild, turned))
print(f"an embedding changed by {weights:.2f}")
print("the logits by less than 1e-12:", np.abs(after - before).max() < 1e-12)
""",
    ),
    Stop(
        "Weights from data",
        "A model learns a rule from 1,000 strings: the third digit equals the eighth. Its head looks where one would.",
        """
training = hl.train("strings:rule=s[3]==s[8],length=10-12", count=1000,
                    steps=400, every=400, layers=1, heads=2, d_model=32, rate=3e-3)
print(f"{training.evaluation.success:.0%} of fresh strings obey the rule")
learnt = training.model()
pattern = hl.trace(learnt, "0110110", want="0.pattern")["0.pattern"]
for head in range(2):
    print(f"about to write digit 8, head {head} gives digit 3 {pattern[head, 7, 3]:.0%}")
""",
        needs="torch",
    ),
    Stop(
        "Constructions",
        "How many points of a 10 × 10 grid, no three of them an isosceles triangle? A search finds the most there are.",
        """
import tempfile
from handloom.discover import discover

with tempfile.TemporaryDirectory() as folder:
    found = discover("isosceles:n=10", store=f"{folder}/records.sqlite",
                     generations=1, attempts=40, model=False)
print(f"{found.best.score} points, verified; {found.problem.best_known} are known")
chosen = {tuple(point) for point in found.best.construction}
for x in range(10):
    print(" ".join("#" if (x, y) in chosen else "." for y in range(10)))
""",
        needs="numba",
    ),
    Stop(
        "Keep it",
        "One safetensors file holds everything, and a file that has been damaged is refused.",
        """
import pathlib, tempfile

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "hello.safetensors")
    hl.save(model, path)
    print(hl.load(path)())
    path.write_bytes(path.read_bytes()[:-1])
    try:
        hl.load(path)
    except hl.HandloomError as error:
        print(str(error).replace(folder, "."))
""",
    ),
)


def take(stops: tuple[Stop, ...] = STOPS) -> Iterator[Shown]:
    """Run one stop after the other; names carry over."""
    names: dict[str, Any] = {}
    for stop in stops:
        if stop.needs and not importlib.util.find_spec(stop.needs):
            extra = "discover" if stop.needs == "numba" else "learn"
            yield Shown(stop, f"(not run: it needs {stop.needs}, which pip install 'handloom[{extra}]' brings)")
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(stop.code, names)  # our own code, from the table above
        yield Shown(stop, output.getvalue().rstrip())


def hello_picture() -> str:
    """The logits of Hello World: what each position says comes next."""
    model = program("hello")
    ids = model.vocab.encode("Hello World!")
    logits = trace(model, ids, want="logits")["logits"]
    names = [token if token.strip() else "␣" for token in model.vocab.tokens]
    rows = [f"{position:>2} {names[token]}" for position, token in enumerate(ids)]
    best = [(i, int(j)) for i, j in enumerate(logits.argmax(-1))]
    return heatmap(
        logits,
        rows,
        names,
        "Hello World! in 72 numbers",
        "position and token",
        "logit of the next token",
        best,
    )


def page(shown: list[Shown]) -> str:
    """One HTML file, no network needed."""
    stops = "\n".join(
        f"<h2>{i}. {escape(s.stop.title)}</h2>\n<p>{escape(s.stop.words)}</p>\n"
        f"<pre class=code>{escape(s.stop.code.strip())}</pre>\n<pre class=output>{escape(s.output)}</pre>"
        for i, s in enumerate(shown, 1)
    )
    return PAGE.replace("{picture}", hello_picture()).replace("{stops}", stops)


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A tour of handloom</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { max-width: 46rem; margin: 3rem auto; padding: 0 1.2rem; color: #222; background: #fff;
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; margin-bottom: .2rem } h2 { font-size: 1.2rem; margin: 2.4rem 0 .2rem }
p { margin: .3rem 0 .8rem } figure { margin: 1.5rem 0; overflow-x: auto }
pre { margin: 0; padding: .8rem 1rem; overflow-x: auto; font: 13px/1.5 "DejaVu Sans Mono", Menlo, Consolas, monospace }
.code { background: #f4f4f1; border-radius: 6px 6px 0 0 }
.output { background: #23292f; color: #e8eef2; border-radius: 0 0 6px 6px }
</style></head><body>
<h1>A tour of handloom</h1>
<p>A workbench for small transformers. Every block below was run to make this page.</p>
<figure>{picture}</figure>
{stops}
</body></html>
"""
