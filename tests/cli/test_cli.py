"""The command line as a user meets it, in an empty folder; in a new process where that makes a difference."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

import command
from draws import random_model
from handloom.cli import Handloom
from handloom.cli.options import with_options
from handloom.cli.read import Read
from handloom.cli.write import Write
from handloom.core import Config, load, save

HANDLOOM = Path(sys.executable).with_name("handloom")


@pytest.fixture
def output(tmp_path):
    """What the command prints in an empty folder."""
    return partial(command.output, cwd=tmp_path)


def test_run_hello_prints_hello_world(output):
    assert output("run", "hello") == "Hello World!\n"
    assert output("run", "book/hello") == "Hello World!\n"
    assert output("run", "hello", "--engine", "torch") == "Hello World!\n"
    assert output("run", "hello", "Hello W", "--specials") == "orld!<eos>\n"


def test_run_takes_several_inputs_and_gives_json(output):
    assert json.loads(output("run", "hello", "", "Hello", "--json")) == {"output": ["Hello World!", " World!"]}


def test_run_with_a_message_of_ones_own(output):
    assert output("run", "hello:message=Good day, a=b!") == "Good day, a=b!\n"


def test_run_samples_with_a_seed(output):
    words = ("run", "hello", "--temperature", "5", "--top-k", "4", "--top-p", "0.9", "--steps", "30", "--seed")
    first, again, other = (output(*words, seed) for seed in ("1", "1", "2"))
    assert first == again != other


def test_run_stops_where_it_is_told(output):
    assert output("run", "hello", "--stop", "o") == "Hello\n"
    assert output("run", "hello", "--steps", "3") == "Hel\n"


def test_certify_says_right_and_wrong_with_its_exit_code(output, tmp_path):
    said = json.loads(output("certify", "min:n=4", "--dtype", "float32", "--json"))
    assert (said["method"], said["inputs"], said["right"], said["dtype"]) == ("exhaustive", 340, True, "float32")
    assert said["margin"] > 0
    done = command.handloom("certify", "book/search", "--samples", "1000", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("WRONG on ")


def test_write_show_explains_in_text_on_a_page_and_as_json(output, tmp_path):
    assert "looks at position 1, '2', 100%" in output("write", "show", "min", "--example", "6 2 12")
    assert output("write", "show", "sum", "-o", "sum.html") == "sum.html\n"
    assert (tmp_path / "sum.html").read_text().startswith("<!doctype html>")
    assert json.loads(output("write", "show", "sum", "--json"))["certificate"]["inputs"] == 100
    assert "this takes two digits" in output("write", "show", "sum", "--example", "129", code=2)


def test_a_taotp_file_of_ones_own_is_shown_and_certified(output, tmp_path):
    """Its notes name no program."""
    output("write", "build", "min:n=5", "-o", "min.taotp")
    text = (tmp_path / "min.taotp").read_text()
    (tmp_path / "my.taotp").write_text(re.sub(r"'notes': .*", "'notes': {'decode_steps': 1}}", text, flags=re.DOTALL))
    assert "Not certified, as no task with questions is known" in output("write", "show", "my.taotp")
    assert "right on all 3,905 inputs" in output("write", "show", "my.taotp", "--task", "min:n=5")
    assert "right on all 3,905 inputs" in output("certify", "my.taotp", "--task", "min:n=5")
    assert json.loads(output("write", "show", "my.taotp", "--json"))["certificate"] is None
    assert output("write", "show", "my.taotp", "-o", "my.html") == "my.html\n"
    assert "its tokens are not the task's" in output("write", "show", "my.taotp", "--task", "min:n=6", code=2)


def test_write_show_follows_an_answer_that_has_begun(output):
    text = output("write", "show", "addition", "--example", "995+007=10")
    assert "On '995+007=10' it outputs '02'. At the last position, 9:" in text
    assert re.search(r"at position +7 '=' +8 '1' +9 '0' +10 '0'\n", text)
    assert re.search(r"predicts +'1' +'0' +'0' +'2'\n", text)
    assert "right on all 1,000,000 inputs (proof: intervals over cases)" in text
    refused = output("write", "show", "addition", "--example", "995+007=12", code=2)
    assert "or that and the beginning of its answer; it was given '995+007=12'" in refused


def test_a_program_as_text_runs(output):
    output("write", "build", "min:n=5", "-o", "min.taotp")
    assert output("run", "min.taotp", "3 1 4") == "1\n"
    assert json.loads(output("certify", "min.taotp", "--json"))["right"]


def test_ngrams_of_a_text(output, tmp_path):
    (tmp_path / "text.txt").write_text("one two three four five six seven eight nine ten eleven twelve " * 3)
    said = json.loads(
        output("write", "ngrams", "text.txt", "--n", "3", "--words", "4", "-o", "m.safetensors", "--json")
    )
    assert said["right"] == said["entries"] == 4
    assert said["output"].startswith("three")
    assert output("run", "m.safetensors", "four five") == "six\n"


def test_precision_draws_a_figure(output, tmp_path):
    assert len(json.loads(output("write", "precision", "--quick", "-o", "p.svg", "--json"))) == 12
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")


def test_write_build_makes_a_file_that_every_command_takes(output, tmp_path):
    output("write", "build", "hello", "-o", "h.safetensors")
    assert output("run", "h.safetensors") == "Hello World!\n"
    assert load(tmp_path / "h.safetensors").notes["program"] == "hello"
    assert json.loads(output("info", "h.safetensors", "--json"))["total"] == 72
    assert json.loads(output("write", "build", "book/hello", "--json")) == {"file": "book-hello.safetensors"}
    assert (tmp_path / "book-hello.safetensors").is_file()


def test_a_program_is_found_whatever_lies_around(output, tmp_path):
    (tmp_path / "hello").mkdir()
    assert output("run", "hello") == "Hello World!\n"
    long = "la " * 200
    assert output("run", f"hello:message={long}") == f"{long}\n"
    assert output("run", "hello:message=x=1,y=2 a.safetensors") == "x=1,y=2 a.safetensors\n"


@pytest.mark.parametrize(
    "words",
    [
        ("info", "hello"),
        ("run", "hello:message=日本é"),
        ("run", "hello:message=é", "--json"),
        pytest.param(("tour",), marks=pytest.mark.slow),
    ],
)
def test_a_terminal_without_unicode_is_no_error(tmp_path, words):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([HANDLOOM, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("words", ["--help", "run hello", "info hello"])
def test_a_full_disk_gets_one_line(words):
    done = subprocess.run(f"{HANDLOOM} {words} > /dev/full", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "handloom: cannot write the output: No space left on device\n"


def test_the_tour_goes_on_without_torch(tmp_path):
    code = "import sys, importlib.util as u; f = u.find_spec\n"
    code += "u.find_spec = lambda name, *a: None if name == 'torch' else f(name, *a)\n"
    code += "sys.argv = ['handloom', 'tour']\nfrom handloom.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "not run: it needs torch" in done.stdout
    assert (tmp_path / "tour.html").is_file()


def test_the_package_is_the_command_too(tmp_path):
    done = subprocess.run([*command.PROCESS, "run", "hello"], capture_output=True, text=True, check=True)
    assert done.stdout == "Hello World!\n"


def test_a_run_folder_is_a_model(output, tmp_path):
    (tmp_path / "runs" / "a").mkdir(parents=True)
    output("write", "build", "hello", "-o", "runs/a/model.safetensors")
    assert output("run", "runs/a") == "Hello World!\n"


def test_info_shows_the_drawing_and_the_counts(output, tmp_path):
    model = random_model(
        Config(vocab=9, block=8, d_model=6, layers=3, heads=2, d_head=4, d_ff=7, place="post", norm="rms", gated=True)
    )
    save(model, tmp_path / "m.safetensors")
    text = output("info", "m.safetensors", "--sites")
    for part in (
        "3 ×",
        "2 heads of 4, causal",
        "6 → 7 → 6, gelu_tanh, gated",
        "RMS norm",
        "a table of 8",
        "0.pattern",
        "H T S",
        "0.mlp_pre_linear T F",
    ):
        assert part in text
    facts = json.loads(output("info", "m.safetensors", "--json"))
    assert facts["config"]["layers"] == 3
    assert facts["trainable"] == sum(a.size for a in model.flat.values())
    assert {"config", "total", "nonzero", "unique", "trainable"} <= set(facts)


def test_write_list_promises_name_and_three_sizes(output):
    rows = json.loads(output("write", "list", "--json"))
    assert {"name": "book/hello", "total": 72}.items() <= next(r for r in rows if r["name"] == "book/hello").items()
    assert all({"name", "total", "nonzero", "unique"} <= set(row) for row in rows)
    assert "book/hello" in output("write", "list")


def test_tour_runs_every_stop_and_leaves_a_page(output, tmp_path):
    shown = json.loads(output("tour", "--json"))
    outputs = "\n".join(stop["output"] for stop in shown["stops"])
    for part in (
        "Hello World!",
        "total=72",
        "'d' → '!'",
        "lllllllll",
        "is not a model that can be loaded",
    ):
        assert part in outputs
    assert "False" not in outputs
    page = (tmp_path / "tour.html").read_text()
    assert page.count("<h2>") == len(shown["stops"])
    assert "<svg" in page
    assert page.count('class="loom-figure"') == 3
    # nothing comes from the network
    assert not re.search(r"https?:|src=|@import", page.replace("http://www.w3.org/2000/svg", ""))


WRONG = [
    (("run",), "Missing argument 'MODEL'"),
    (("run", "none.safetensors"), "none.safetensors: no such file, and no program of that name"),
    (("run", "./nosuch"), "./nosuch: no such file, and no program of that name"),
    (("run", ""), "'': no such file"),
    (("run", "x" * 300), "cannot be opened: File name too long"),
    (("run", "folder"), "folder is a folder without a model.safetensors in it"),
    (
        ("run", "/dev/zero", "1"),
        "/dev/zero is a pipe or a device (expected a file); copy its contents into a file first",
    ),
    (("certify", "min:n=4", "--samples", "9" * 400), "must be at most 1000000000"),
    (("run", "min:n=1000000000", "1"), "texts of 1,000,000,000 tokens (expected up to 10,000); choose smaller"),
    (("run", "helo"), "helo: no such file, and no program of that name; did you mean hello?"),
    (("run", "my.py"), "my.py: no such file, and no program of that name"),
    (("run", "text.txt"), "text.txt is not a model that can be loaded: it is cut short, damaged or not a safetensors"),
    (("run", "hello", "Hxllo"), "this takes nothing, or the beginning of 'Hello World!'; it was given 'Hxllo'"),
    (("run", "hello", "Hxllo", "--unchecked"), "token 'x' is not in the vocabulary; it has <bos> H e l o ' ' W r d !"),
    (("run", "hello", "H" * 14, "--unchecked"), "the prompt has 15 tokens and the block holds 13"),
    (("run", "numbers.safetensors"), "the prompt is empty; give at least one token"),
    (("run", "numbers.safetensors", ""), "the prompt is empty"),
    (("run", "addition", "1x2+345="), "this takes two numbers of 3 digits each, such as 045+078="),
    (("run", "addition", "1234+345="), "this takes two numbers of 3 digits each"),
    (("run", "lookup", "1 2 3 4 5"), "this takes up to 20 tokens that end in one of the table's 10 keys"),
    (("certify", "numbers.safetensors"), "name no task, so that it is not known"),
    (("certify", "min", "--dtype", "float16"), "dtype='float16' must be float32 or float64"),
    (("certify", "min", "--samples", "0"), "samples=0"),
    (("write", "show", "nothing"), "nothing: no such file, and no program of that name"),
    (("write", "ngrams", "nowhere.txt"), "cannot read nowhere.txt: No such file or directory; give a text file"),
    (("write", "precision", "--quick", "-o", "p.gif"), "p.gif is not a kind of picture that can be drawn"),
    (("run", "hello:mesage=x"), "hello has no parameter 'mesage'; write hello:message=Hello World!"),
    (("run", "hello:x"), "hello: 'x' is not a parameter and its value"),
    (("run", "hello", "--steps", "many"), "Invalid value for '--steps'"),
    (("run", "hello", "--temperature", "-1"), "temperature=-1.0 must be 0"),
    (("run", "hello", "--top-p", "2"), "top_p=2.0 must be above 0 and at most 1"),
    (("run", "hello", "--engine", "gpu"), "no engine 'gpu' here; the engines are reference, torch"),
    (("run", "hello", "--stop", "zz"), "token 'zz' is not in the vocabulary"),
    (("run", "hello", "--speed", "9"), "No such option: --speed"),
    (("info", "folder"), "folder is a folder without"),
    (("run", "hello", "--top-k", "3"), "at temperature 0 nothing is drawn"),
    (("write", "build", "hello", "-o", "x" * 300), "cannot"),
    (("write", "build", "nothing"), "no program 'nothing'; there are"),
    (("write", "build", "hello", "-o", "folder"), "folder is a folder; give the name of a file in it"),
    (("write", "build", "hello", "-o", "no/such/place.safetensors"), "cannot write no/such/place.safetensors"),
    (("write", "build", "hello", "-o", "x.onnx"), "x.onnx: a model file ends in .safetensors or .taotp; name it x.sa"),
    (("write", "build", "hello", "-o", "x"), "x: a model file ends in .safetensors or .taotp; name it x.safetensors"),
    (("write", "ngrams", "text.txt", "-o", "x.pt"), "x.pt: a model file ends in .safetensors; name it x.safetensors"),
    (("write", "show", "hello", "-o", "x.pdf"), "x.pdf: a page ends in .html or .htm; name it x.html"),
    (("tour", "-o", "tour.pdf"), "tour.pdf: a page ends in .html or .htm; name it tour.html"),
    (("compile", "mine.py:f", "-o", "m.safetensors"), "mine.py"),
    (("wirte",), "No such command 'wirte'"),
    (("tour", "-o", "folder"), "folder is a folder"),
]


@pytest.mark.parametrize(("words", "complaint"), WRONG, ids=lambda x: " ".join(x)[:50] if isinstance(x, tuple) else "")
def test_bad_input_gets_one_line_and_exit_code_2(output, tmp_path, words, complaint):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("a poem")
    save(random_model(Config(vocab=3, block=2, d_model=2)), tmp_path / "numbers.safetensors")
    before = sorted(os.listdir(tmp_path))
    said = output(*words, code=2)
    assert said.startswith("handloom: ")
    assert complaint in said
    assert said.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "words", [("--help",), ("run", "-h"), ("info", "--help"), ("write", "--help"), ("write", "build", "-h")]
)
def test_help_says_something(output, words):
    assert "Usage" in output(*words)


def test_no_words_show_the_help(output):
    done = subprocess.run([HANDLOOM], capture_output=True, text=True, check=False)
    assert "Usage" in done.stdout
    assert done.stderr == ""


def test_version(output):
    assert output("--version") == "handloom 0.1.0\n"


def test_a_reader_that_leaves_is_no_error(tmp_path):
    line = f"{HANDLOOM} info hello --sites | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    assert "logits" in done.stdout


def test_float32_models_run_on_both_engines(output, tmp_path):
    model = random_model(Config(vocab=9, block=8, d_model=6, layers=1, heads=2, d_head=4)).astype(np.float32)
    save(model, tmp_path / "m.safetensors")
    assert output("run", "m.safetensors", "1 2 3") == output("run", "m.safetensors", "1 2 3", "--engine", "torch")


def test_what_takes_long_says_how_far_it_is_on_standard_error(output, tmp_path):
    model = random_model(Config(vocab=9, block=40, d_model=16, layers=6, heads=4, d_head=4, d_ff=32))
    save(model, tmp_path / "m.safetensors")
    words = [HANDLOOM, "run", "m.safetensors", "1", "--steps", "4000", "--json"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "of at most 4,000" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
        assert process.wait() == 130


COMMANDS = {(name,): f"handloom.cli.{name}" for name in Handloom.names if name not in ("write", "read", "import")}
COMMANDS |= {("import",): "handloom.cli.import_"}
COMMANDS |= {("write", name): f"handloom.cli.write.{name}" for name in Write.names}
COMMANDS |= {("read", name): f"handloom.cli.read.{name}" for name in Read.names}
EVERY = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


def command_of(words):
    """The function of a command, with all its options."""
    module = COMMANDS[words]
    return with_options(getattr(import_module(module), module.rpartition(".")[2]))


@EVERY
def test_help_loses_nothing_in_brackets(output, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "300")
    function, shown = command_of(words), output(*words, "--help")
    annotations = get_type_hints(function, include_extras=True).values()
    texts = [one.help for kind in annotations for one in getattr(kind, "__metadata__", ()) if one.help]
    for text in [function.__doc__, *texts]:
        for part in re.findall(r"\[[^\]\n]*\]", text.replace("\\[", "[")):
            assert part in shown


@EVERY
def test_every_command_has_an_example_that_can_be_typed(words):
    examples = command_of(words).__doc__.partition("\b\n")[2].splitlines()
    lines = [line.strip() for line in examples if line.strip()]
    assert lines
    typed = " ".join(words).removesuffix(" overview")  # which may be left out
    assert all(line.startswith(f"handloom {typed}") for line in lines)
    assert all(len(line) <= 78 for line in lines), "in a terminal of 80 columns it is broken into two"
