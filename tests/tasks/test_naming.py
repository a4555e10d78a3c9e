"""Names with parameters, and what they lead to: tasks there are, files, and tasks that users write."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import handloom as hl
from handloom.core import HandloomError
from handloom.tasks import Language, Task, naming
from handloom.tasks.catalogue import TASKS

ROOT = Path(__file__).parents[2]


def make(size: int = 3, rate: float = 0.5, rule: str = "s[1]==s[2]"):
    return size, rate, rule


def test_values_have_the_types_of_the_parameters():
    assert naming.given("make", make, "size=5,rate=1e-3,rule=a") == {"size": 5, "rate": 0.001, "rule": "a"}
    assert naming.given("make", make, "rate=2", {"size": 4}) == {"rate": 2.0, "size": 4}
    assert naming.given("make", make, "", {"rate": 2}) == {"rate": 2.0}
    assert naming.given("make", make, "") == {}
    assert naming.usage("make", make) == "make:size=3,rate=0.5,rule=s[1]==s[2]"
    assert naming.usage("nothing", lambda: None) == "nothing"


def test_a_parameter_that_is_given_twice_is_refused():
    with pytest.raises(HandloomError, match="thing has size= twice; give it once"):
        naming.given("thing", make, "size=4,rate=1,size=5")


def test_a_comma_separates_only_in_front_of_a_parameter():
    assert naming.given("make", make, "rule=s[1]=s[2],s[3]=s[4], n=5,size=7") == {
        "rule": "s[1]=s[2],s[3]=s[4], n=5",
        "size": 7,
    }


@given(st.integers(-(10**18), 10**18), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=30))
def test_what_is_written_is_read_back(size, rate, rule):
    """But for a text that has a comma and a parameter's name in it."""
    if not any(f",{name}=" in rule for name in ("size", "rate", "rule")):
        values = {"rate": rate, "rule": rule, "size": size}
        assert naming.given("make", make, ",".join(f"{key}={value}" for key, value in values.items())) == values


@given(
    st.text(max_size=30) | st.lists(st.sampled_from(["size", "rate", "rule", "=", ",", "3", "x", "\n"])).map("".join)
)
def test_any_text_is_parameters_or_is_refused_in_one_line(text):
    try:
        values = naming.given("make", make, text)
    except HandloomError as error:
        assert "\n" not in str(error)
        assert str(error).endswith("write make:size=3,rate=0.5,rule=s[1]==s[2]")
    else:
        assert all(isinstance(make(**values)[i], kind) for i, kind in enumerate((int, float, str)))


@pytest.mark.parametrize(
    ("text", "beside", "complaint"),
    [
        ("size=many", {}, "make: size=many is not a whole number; write make:size=3,rate=0.5,rule="),
        ("size=" + "9" * 5000, {}, "make: size='9{56}... is not a whole number"),
        ("rate=fast", {}, "make: rate=fast is not a number"),
        ("rate=nan", {}, "make: rate=nan is not a number"),
        ("", {"rate": float("inf")}, "make: rate=inf is not a number"),
        ("", {"rate": 10**400}, "make: rate=.* is not a number"),
        ("", {"size": 3.0}, "make: size=3.0 is not a whole number"),
        ("", {"rule": 5}, "make: rule=5 is not text"),
        ("sise=3", {}, "make has no parameter 'sise'; write make:size=3"),
        ("3", {}, "make: '3' is not a parameter and its value; write make:size=3"),
    ],
)
def test_wrong_values_are_refused(text, beside, complaint):
    with pytest.raises(HandloomError, match=complaint):
        naming.given("make", make, text, beside)


def test_a_parameter_without_a_default_or_of_another_type_is_refused():
    def no_default(size: int): ...

    def a_list(sizes: list = []): ...  # noqa: B006

    for function in (no_default, a_list):
        with pytest.raises(HandloomError, match="must be int, float or str and have a default"):
            naming.given("f", function, "")


def test_a_parameter_may_have_no_value_until_one_is_given():
    def optional(n: int = 3, block: int | None = None): ...

    assert naming.given("f", optional, "block=4") == {"block": 4}
    assert naming.given("f", optional, "n=4") == {"n": 4}
    with pytest.raises(HandloomError, match=r"f: block=x is not a whole number; write f:n=3$"):
        naming.given("f", optional, "block=x")


def test_a_parameter_without_a_written_type_has_that_of_its_default():
    assert naming.given("f", lambda n=3, x="a", y=0.5: None, "n=4,x=5,y=6") == {"n": 4, "x": "5", "y": 6.0}


@pytest.mark.parametrize("name", TASKS)
def test_every_task_gives_pairs_that_it_calls_right(name):
    task = hl.task(name)
    rng = np.random.default_rng(0)
    assert isinstance(task, Task | Language)
    for _ in range(20):
        asked, answer = task.pair(rng)
        assert task.verdict(asked, answer) == "right"
    assert TASKS[name].about


def test_parameters_may_stand_in_the_name_or_beside_it():
    for language in (
        hl.task("strings:length=5-6,rule=s[1]=s[2]"),
        hl.task("strings", length="5-6", rule="s[1]=s[2]"),
    ):
        assert language.about == "strings of 0 1 of length 5 to 6 with s[1]=s[2]"


def test_a_rule_alone_is_strings_under_it():
    assert hl.task("s[1]=s[2],length=5-6").about == "strings of 0 1 of length 5 to 6 with s[1]=s[2]"
    assert hl.task("s[1]==s[2]", length="7").longest == 7


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("stringz:rule=s[1]==s[2]", "no task and no file 'stringz'; did you mean strings?"),
        ("fibonaci", "no task and no file 'fibonaci'; did you mean fibonacci?"),
        ("nothing.txt", "no task and no file 'nothing.txt'; the tasks are strings, one-two, .*; or give a file"),
        ("nothing.py:a=1", "no task and no file 'nothing.py'"),
        ("", "no task and no file ''"),
        (None, "no task and no file 'None'"),
        ("a\0b", "no task and no file"),
        ("strings:size=3", "strings has no parameter 'size'; write strings:rule=,alphabet=01,length=30-40"),
        ("grid:side=x", "grid: side=x is not a whole number; write grid:side=8,distances=4,5"),
    ],
)
def test_names_that_lead_nowhere_are_refused(name, complaint):
    with pytest.raises(HandloomError, match=complaint):
        hl.task(name)


def test_to_name_a_task_loads_only_its_module():
    code = "import sys; from handloom.tasks import task; task('grid'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "handloom.tasks.grids" in loaded
    assert not {"handloom.tasks.rules", "handloom.tasks.fibonacci", "torch"} & set(loaded)


def test_the_example_of_a_task_of_ones_own(monkeypatch):
    monkeypatch.chdir(ROOT)
    task = hl.task("examples/task.py:letters=abc,longest=12")
    rng = np.random.default_rng(0)
    texts = [task.draw(rng) for _ in range(200)]
    assert all(text == text[::-1] and 2 <= len(text) <= 12 for text in texts)
    assert set("".join(texts)) == set("abc")
    assert task.right("abccba")
    assert not task.right("abccbb")
    assert hl.task("examples/task.py", longest=4).longest == 4


USES = "from handloom.tasks import Language, Task\nfrom handloom.tasks.extremes import minimum\n"


def test_a_users_task_may_be_an_object_and_is_run_anew_each_time(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(USES + "task = minimum(5)")
    assert hl.task(path).answer("3 2 4") == "2"
    path.write_text(USES + "task = minimum(9)")
    assert hl.task(path).answer("8 7") == "7"
    assert os.listdir(tmp_path) == ["mine.py"]


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("x = 1", r"mine.py: there is no task in it; define task, a Task or a Language, or a function task\(\)"),
        ("task = 5", "mine.py: there is no task in it"),
        ("x = 1\ny = 1 / 0", "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("x = 1\n\ndef f(:", "mine.py, line 3: SyntaxError: "),
        ("x = '\0'", "mine.py.*: "),
        ("raise SystemExit(3)", "mine.py, line 1: SystemExit: 3"),
        ("raise ValueError('one\\ntwo')", "mine.py, line 1: ValueError: one two"),
        ("import nothing_of_that_name", "mine.py, line 1: ModuleNotFoundError"),
        ("def task():\n    return open('/nothing')", "mine.py, line 2: FileNotFoundError"),
        (USES + "def task(n: int = 0):\n    return strings('s[0]==1')", "mine.py, line 4: NameError"),
        ("def task():\n    return 5", r"mine.py: task\(\) gave 5; it must give a Task or a Language"),
        ("def task(n):\n    return 5", "mine.py: its parameter 'n' must be int, float or str and have a default"),
        ("def task(n: unknown = 3):\n    return 5", "mine.py, line 1: NameError"),
        ("from __future__ import annotations\ndef task(n: unknown = 3): ...", "mine.py: its parameters cannot be read"),
        ("task = dict", "mine.py: its parameters cannot be read"),
        ("task = print", r"mine.py: its parameter 'args' must be int, float or str"),
        (
            "from handloom.tasks.strings import strings\ntask = strings('s[0]==1')",
            r"mine.py, line 2: rule 's\[0\]==1': there",
        ),
    ],
)
def test_what_is_wrong_in_a_users_file_is_said_in_one_line(tmp_path, code, complaint):
    path = tmp_path / "mine.py"
    path.write_text(code)
    with pytest.raises(HandloomError, match=complaint) as refusal:
        hl.task(str(path))
    assert "\n" not in str(refusal.value)


def test_parameters_that_cannot_be_taken_are_refused(tmp_path):
    (tmp_path / "mine.py").write_text(USES + "task = minimum(5)")
    (tmp_path / "names.txt").write_text("anna\nbob")
    with pytest.raises(HandloomError, match=r"mine.py: its task takes no parameters; make it a function"):
        hl.task(tmp_path / "mine.py", n=5)
    with pytest.raises(HandloomError, match=r"names.txt has no parameter .n.; write .*names.txt:tokens=characters"):
        hl.task(tmp_path / "names.txt", n=5)
    with pytest.raises(HandloomError, match=r"mine.py: its task takes no parameters"):
        hl.task(f"{tmp_path / 'mine.py'}:n=5")
