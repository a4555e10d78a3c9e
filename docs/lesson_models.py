"""The trained models of the studio's lessons, into src/handloom/studio/lessons/learned/.

    nice -n 19 python docs/lesson_models.py               # those that are not there yet
    nice -n 19 python docs/lesson_models.py rule-500      # one of them, again

`induction` is induction-1 of docs/read_models.py. The three of `rule` are one run of `wagner/13-22` with two layers, 32
wide, kept after 100, 500 and 45,000 steps: a constant rate makes the first steps of a long run those of a short one.
The run takes a quarter of an hour on one core.
"""

import shutil
import sys
from pathlib import Path

import handloom as hl

HERE = Path(__file__).parent
FOLDER = HERE.parent / "src" / "handloom" / "studio" / "lessons" / "learned"
RULE = {"layers": 2, "d_model": 32, "count": 1_000, "seed": 0}
STEPS = {"rule-100": 100, "rule-500": 500, "rule-45000": 45_000}
NAMES = ("induction", *STEPS)


def make(name: str) -> None:
    place = FOLDER / f"{name}.safetensors"
    if name == "induction":
        shutil.copy(HERE / "read" / "models" / "induction-1.safetensors", place)
    else:
        hl.save(hl.train("s[13]==s[22],length=30-40", steps=STEPS[name], **RULE).model(), place)
    print(place)


if __name__ == "__main__":
    for one in sys.argv[1:] or [name for name in NAMES if not (FOLDER / f"{name}.safetensors").exists()]:
        make(one)
