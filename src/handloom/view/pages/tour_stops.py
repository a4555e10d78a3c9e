"""The stops of the tour: a title, a sentence, a few lines of Python, and what to draw of the names they define."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handloom.tasks import Task, task_of
from handloom.view.architecture import architecture_drawing
from handloom.view.pages.looms import Loom
from handloom.view.svg.circuit_graph import circuit_drawing
from handloom.view.svg.constructions import construction_drawing
from handloom.view.svg.drawing import Drawing
from handloom.view.svg.heatmap import heatmap

Names = Mapping[str, Any]


@dataclass(frozen=True)
class Stop:
    title: str
    words: str
    code: str
    needs: str = ""  # a package that the light base does not bring
    picture: Callable[[Names], dict[str, Drawing]] = lambda names: {}  # caption → drawing
    loom: Callable[[Names], Loom | None] = lambda names: None  # a model that computes in the page


def search_loom(names: Names) -> Loom:
    task = task_of(names["search"])
    return Loom("search", names["search"], "1 2 3 4 5 6 1 2 3", task if isinstance(task, Task) else None)


def trained_loom(names: Names) -> Loom:
    return Loom("a trained model", names["trained"], "0110110")


def circuit_pictures(names: Names) -> dict[str, Drawing]:
    return {"The edges that its answers need": circuit_drawing(names["circuit"])}


def config_pictures(names: Names) -> dict[str, Drawing]:
    return {"Its residual stream, from the tokens up": architecture_drawing(names["config"])}


def trained_pictures(names: Names) -> dict[str, Drawing]:
    """Where the heads look; the last row is about to write digit 8."""
    tokens = ["start", *"0110110"]
    return {
        f"Head {h}": heatmap(pattern, tokens, tokens, numbered=True, marked=[(7, 3)])
        for h, pattern in enumerate(names["pattern"])
    }


def found_pictures(names: Names) -> dict[str, Drawing]:
    space = names["found"].problem.space
    best = names["found"].best
    return {f"{best.score} points": construction_drawing(space, space.read(best.construction))}


STOPS = (
    Stop(
        "A transformer, programmed by hand",
        "Seventy-two numbers, each set for a reason, and an ordinary decoder prints a message.",
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
        "A run can record any of its sites. Here: by how much every position prefers the token that comes next.",
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
        "Two layers find where the last three tokens stood before, and output what followed. Watch them look there.",
        """
search = hl.program("search")
print(search("1 2 3 4 5 6 1 2 3"))
""",
        loom=search_loom,
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
        "A program, compiled and proven",
        "A line of a small language becomes a transformer that reverses, proven right on all its inputs in float32.",
        """
from handloom.language import *

reverse = program(asks="[a-d]{0,5}>")(lambda: at(2 * find(">") - position - 1))
reverser = hl.compile(reverse)
print(reverser("abcd>"), hl.count(reverser).total)
print(hl.certify(reverser))
""",
    ),
    Stop(
        "Take it apart",
        "What does each head look at, and which edges do the answers need? Every edge is cut, and the rest checked.",
        """
print(hl.read.heads(search))
circuit = hl.read.circuit(search, pairs=64)
real, edges = len(circuit.real), len(circuit.edges)
print(f"{real} of {edges} edges are real; certified: {circuit.certified}")
""",
        picture=circuit_pictures,
    ),
    Stop(
        "Any transformer",
        "A Config chooses sizes, norms, positions, activations. This one is of GPT-2's family, its weights random.",
        """
config = hl.Config(vocab=27, block=64, d_model=32,
                   layers=2, heads=4, d_head=8, d_ff=128)
weights = hl.params.random(config, seed=0, scale=0.3)
wild = hl.Model(config, weights, hl.Vocab.numbers(27))
print(wild)
print(wild("3 1 4 1 5", steps=8))
print(wild("3 1 4 1 5", steps=8, temperature=1.0, seed=7))
""",
        picture=config_pictures,
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
        "Rotate the residual stream at random: every weight changes, the function does not.",
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
        "A model learns a rule from 1,000 strings: the third digit equals the eighth. Its heads look at the third.",
        """
training = hl.train("strings:rule=s[3]==s[8],length=10-12", count=1000,
                    steps=400, every=400, layers=1, heads=2, d_model=32, rate=3e-3)
print(f"{training.evaluation.success:.0%} of fresh strings obey the rule")
trained = training.model()
pattern = hl.trace(trained, "0110110", want="0.pattern")["0.pattern"]
for head in range(2):
    print(f"about to write digit 8, head {head} gives digit 3 {pattern[head, 7, 3]:.0%}")
""",
        picture=trained_pictures,
        loom=trained_loom,
        needs="torch",
    ),
    Stop(
        "Constructions",
        "How many points of a 10 × 10 grid form no isosceles triangle? A search finds the largest number known.",
        """
import tempfile
from handloom.discover import discover

with tempfile.TemporaryDirectory() as folder:
    found = discover("isosceles:n=10", store=f"{folder}/records.sqlite",
                     generations=1, attempts=40, model=False)
print(f"{found.best.score} points, verified; {found.problem.best_known} are known")
""",
        picture=found_pictures,
        needs="numba",
    ),
    Stop(
        "Keep it",
        "One safetensors file holds everything, and a damaged file is refused.",
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
