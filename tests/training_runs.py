"""What tests of training runs share: a small run, a task, a user's own task file, and waiting."""

import re
import time

SMALL = {"layers": 2, "heads": 2, "d_model": 16, "count": 200, "samples": 20}
TINY = ["--layers", "1", "--heads", "1", "--width", "8", "--count", "100", "--samples", "10", "--every", "5"]
RULE = "strings:rule=s[2]==s[5],length=6-9"
OWN = """
from handloom.tasks import Language

def task(n: int = 4):
    return Language("words", "01", n, lambda rng: {draw}, lambda text: {right})
"""


def by_hand(file, *change):
    """Change a file of a run as a user would, who takes the digest out."""
    text = re.sub(r',\s*"sha256": "\w+"', "", file.read_text())
    assert change[0] in text
    file.write_text(text.replace(*change))


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
