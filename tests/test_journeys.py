"""docs/ARCHITECTURE.md tells the truth: its drawing has the rooms there are, its journeys pass the files it lists."""

import re
from pathlib import Path

import pytest

from journeys import JOURNEYS, OWN_ROOMS, SOURCE, journey, own_files
from test_structure import ORDER, SIDE_BY_SIDE

PAGE = (Path(__file__).parents[1] / "docs" / "ARCHITECTURE.md").read_text()


def below(heading):
    """The text below a heading, up to the next one."""
    return PAGE.partition(f"\n{heading}\n")[2].partition("\n#")[0]


def block_below(heading):
    """The lines of the first code block below a heading."""
    return below(heading).partition("```text\n")[2].partition("```")[0].splitlines()


def test_the_drawing_has_the_rooms_in_the_order_in_which_they_may_import():
    words = [re.findall(r"^ ([a-z]+)(?: |$)|(?<=  )([a-z]+)(?=  |$)", line) for line in block_below("## The rooms")]
    drawn = [a or b for found in words for a, b in found if (a or b) in ORDER]
    assert drawn == ORDER
    row = next(line for line in block_below("## The rooms") if "share" in line)
    assert set(row.split()) == SIDE_BY_SIDE


def test_every_room_of_the_drawing_is_there():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(ORDER)


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_passes_the_files_that_the_page_lists(name):
    listed, room = set(), None
    for line in block_below(f"### {name}"):
        words = line.split()
        if not line.startswith(" "):
            room = words.pop(0)
        listed |= {f"{room}/{word}.py" for word in words}
    rooms = " and ".join(f"`{room}/`" for room in OWN_ROOMS[name].split())
    assert f"{len(listed)} files, {len(own_files(name, listed))} of them in {rooms}." in below(f"### {name}")
    passed = set(journey(JOURNEYS[name]))
    assert passed <= listed
    assert len(listed - passed) <= 3  # what a terminal shows depends on how long a run takes


def test_every_file_that_the_page_names_is_there():
    for name in re.findall(r"`((?:core|tasks|runs|write|learn|read|discover|view|lab|cli|tests)/[\w/.]*)`", PAGE):
        place = Path(__file__).parents[1] / name if name.startswith("tests/") else SOURCE / name
        assert place.exists(), name
