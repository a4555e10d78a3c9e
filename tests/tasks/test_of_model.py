"""One currency: whoever made a model, it knows its task, wherever its file goes, and every tool works on it."""

import shutil

import numpy as np
import pytest

import handloom as hl
from handloom.core import HandloomError, Model, load, save
from handloom.discover.model.codec import Codec
from handloom.discover.model.proposer import Proposer
from handloom.discover.spaces import grid
from handloom.learn.api import train
from handloom.learn.sampling import Sampling, sample
from handloom.tasks import certify, task_of
from handloom.tasks.catalogue import TASKS, full_name
from handloom.write import PROGRAMS, program
from handloom.write.taotp import save_taotp

SMALL = {"count": 100, "samples": 4, "batch": 4, "layers": 1, "heads": 1, "d_model": 8}
SHORT = {"steps": 4, "every": 2, "keep": 2, **SMALL}
OWN = """
import handloom as hl
def task(n: int = 3): return hl.task("min", n=n)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a short run on min:n=3, with all kinds of model files in it."""
    folder = tmp_path_factory.mktemp("runs") / "a"
    train("min:n=3", folder=folder, **SHORT)
    return folder


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The folder of a run of a task of one's own."""
    place = tmp_path_factory.mktemp("own")
    (place / "mine.py").write_text(OWN)
    train(f"{place / 'mine.py'}:n=4", folder=place / "a", **SHORT)
    return place


def bare(model, **notes):
    """The model with these notes only."""
    return Model(model.config, model.params, model.vocab, notes)


# Names


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_name_of_a_program_is_that_of_its_task(name):
    """Where a program and a task share a name they mean the same task, and the note of the model names it too."""
    model, chosen = program(name), hl.task(name)
    noted = hl.task(model.notes["task"])
    assert model.notes["task"].partition(":")[0] in TASKS
    for other in (noted, task_of(model), task_of(bare(model, program=name, parameters={}))):
        assert (other.takes, other.vocab, other.count) == (chosen.takes, chosen.vocab, chosen.count)
        drawn = [other.draw(np.random.default_rng(1)) for _ in range(5)]
        assert [other.oracle(ids) for ids in drawn] == [chosen.oracle(ids) for ids in drawn]


def test_parameters_of_a_program_are_those_of_its_task():
    assert hl.task("tiny-addition:digits=2").answer("45+78=") == hl.task("addition", digits=2).answer("45+78=")
    assert program("exercise/min-million").notes["task"] == "min:n=1000,block=16"
    assert program("book/lookup", dims=6).notes["task"] == "lookup:entries=10,vocab=10,length=5,block=5,seed=0"
    with pytest.raises(HandloomError, match="book/sort has no parameter 'm'"):
        hl.task("book/sort:m=3")
    with pytest.raises(HandloomError, match="no task and no file 'book/srot'; did you mean book/sort"):
        hl.task("book/srot")


def test_a_file_that_is_called_as_a_program_does_not_stand_in_for_its_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hello").write_text("abc\n" * 20)
    assert hl.task("hello").answer("") == "Hello World!"
    assert full_name("hello") == "message:message=Hello World!"


def test_a_note_has_all_parameters_and_is_the_same_whoever_made_the_model():
    assert full_name("addition") == program("addition").notes["task"] == program("tiny-addition").notes["task"]
    assert full_name("s[1]==s[2]") == "strings:rule=s[1]==s[2],alphabet=01,length=30-40"
    assert full_name(full_name("s[1]==s[2]")) == full_name("s[1]==s[2]")


def test_a_message_that_looks_like_parameters_is_still_certified():
    model = program("hello", message="a,message=b")
    assert "task" not in model.notes
    assert certify(model).right
    assert program("hello", message="a=b, c:d").notes["task"] == "message:message=a=b, c:d"


# Whoever made it


def test_every_model_of_a_run_notes_its_task_and_keeps_it_away_from_its_folder(run, tmp_path):
    files = sorted(path.name for path in run.glob("*.safetensors") if path.name != "checkpoint.safetensors")
    assert files == ["best.safetensors", "model-2.safetensors", "model-4.safetensors", "model.safetensors"]
    for name in files:
        shutil.copy(run / name, tmp_path)
        model = load(tmp_path / name)
        assert model.notes["task"] == full_name("min:n=3") == "min:n=3"
        assert certify(model).inputs == certify(tmp_path / name).inputs == 39


def test_training_fine_tuning_and_lora_note_the_task_they_train_on():
    adder = "addition:digits=1"
    for how in ({"start": program(adder)}, {"start": adder, "lora": 2}):
        short = {"steps": 1, "every": 1, "count": 50, "samples": 4, "batch": 4}
        notes = train("addition:digits=1", **short, **how).model().notes
        assert (notes["task"], notes["from"]["task"], notes["made"]) == (adder, adder, "trained")
    assert "task" not in train(hl.task("min:n=3"), **SHORT).model().notes  # a value has no name


def test_a_task_of_ones_own_is_found_beside_the_model(own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load(own / "a").notes["task"] == "task.py:n=4"
    for place in (own / "a", own / "a/model.safetensors", own / "a/best.safetensors"):
        assert task_of(load(place), place).count == certify(place).inputs == 340
    shutil.copy(own / "a/model.safetensors", tmp_path / "m.safetensors")
    for ask in (lambda: certify("m.safetensors"), lambda: task_of(load(own / "a"))):
        with pytest.raises(
            HandloomError, match=r"no task and no file 'task\.py:n=4' is here or beside the model; name"
        ):
            ask()
    assert certify("m.safetensors", f"{own / 'mine.py'}:n=4").inputs == 340
    shutil.copy(own / "mine.py", tmp_path / "task.py")
    assert certify("m.safetensors").inputs == 340
    with pytest.raises(HandloomError, match="no task and no file"):  # a task.py that is here may be of any run
        certify(load("m.safetensors"))


def test_a_task_of_ones_own_that_is_not_kept_is_noted_by_its_files_name(own):
    assert train(f"{own / 'mine.py'}:n=4", **SHORT).model().notes["task"] == "mine.py:n=4"


def test_the_model_of_a_discovery_notes_its_problem():
    proposer = Proposer.of(Codec.of("cells", grid(2, 2)), about="isosceles:n=2", layers=1, width=8)
    model = proposer.model()
    assert model.notes["task"] == "discover/isosceles:n=2"
    with pytest.raises(HandloomError, match="'isosceles:n=2' is a problem of discovery"):
        certify(model)
    assert str(sample(model, 3)) == "not judged: the model's task is not known"


# What takes any model


def test_a_model_is_certified_against_a_task_by_name_or_value(run):
    model = load(run)
    for task in ("max:n=3", "book/max:n=3", hl.task("max:n=3")):
        assert certify(model, task) == certify(run, task)
    with pytest.raises(HandloomError, match="a task of strings has no questions with right answers to certify"):
        certify(model, "strings")


def test_load_takes_what_is_on_disk(run, tmp_path):
    save_taotp(program("min:n=3"), tmp_path / "min.taotp")
    save(program("min:n=3"), tmp_path / "min.safetensors")
    for path in (run, str(run), run / "best.safetensors", tmp_path / "min.taotp", tmp_path / "min.safetensors"):
        assert isinstance(hl.load(path), Model)
    assert (hl.load(run).flat["W_E"] == hl.load(run / "model.safetensors").flat["W_E"]).all()
    with pytest.raises(HandloomError, match=r"is a folder without a model\.safetensors in it; name a model file or a"):
        hl.load(tmp_path)


def test_a_run_knows_what_is_new_and_a_model_alone_does_not(run, tmp_path):
    shutil.copy(run / "model.safetensors", tmp_path / "alone.safetensors")
    for model in (
        run,
        run / "model.safetensors",
        tmp_path / "alone.safetensors",
        load(run),
        program("min:n=3"),
        "min:n=3",
    ):
        found = sample(model, 20, seed=1)
        assert len(found.samples) == 20
        assert found.success is not None
        assert (found.new is None) == (model not in (run, run / "model.safetensors"))
    kept = sample(run / "model-2.safetensors", 5, "0 1")
    assert kept.known is not None
    assert Sampling.of(run / "model-2.safetensors").model.notes["steps"] == 2
    assert sample("min:n=3", 10).success == sample("addition", 10).success == 1.0
    assert str(sample("min:n=3", 10)) == "100.0% right, 0.0% malformed"


def test_samples_of_a_model_without_a_known_task_are_not_judged(tmp_path):
    model = bare(program("min:n=3"), decode_steps=1)
    with pytest.raises(HandloomError, match="this model has no token to begin with; give a prompt"):
        sample(model, 3)
    found = sample(model, 3, "2 1", temperature=0.0)
    assert (found.success, found.new, found.malformed, found.samples) == (None, None, None, ("2 1 1",) * 3)
    assert sample(model, 3, "2 1", task="min:n=3").success == 1.0
    with pytest.raises(HandloomError, match="the model's tokens are not the task's: it has no '3'"):
        sample(model, 3, task="min:n=4")


# Inputs are checked


@pytest.mark.parametrize("text", ["45+78=", "045+078", "045+078=0", ["045+078=", "45+78="]])
def test_a_program_called_from_python_takes_what_its_task_takes(text):
    model = program("addition")
    with pytest.raises(
        HandloomError, match=r"^this takes two numbers of 3 digits each, such as 045\+078=; it was given"
    ):
        model(text)
    assert model(text, unchecked=True) is not None
    assert model(["045+078=", "999+001="]) == ["0123", "1000"]


def test_a_saved_and_a_trained_model_check_too_and_strings_do_not(tmp_path):
    save(program("addition"), tmp_path / "m.safetensors")
    trained = train("addition:digits=1", **SHORT).model()
    for model, text in ((load(tmp_path / "m.safetensors"), "45+78="), (trained, "45+7")):
        with pytest.raises(HandloomError, match=r"^this takes "):
            model(text)
        assert model(text, unchecked=True, steps=1)
    assert load(tmp_path / "m.safetensors")("045+078=01", unchecked=True, steps=2) == "23"
    strings = train("strings:length=4-6", **SHORT).model()
    assert isinstance(strings("01"), str)


def test_edits_and_traces_are_as_before():
    model = program("addition")
    assert model("045+078=", edits={"1.z": lambda z: z * 0}) == "0000"
    assert hl.trace(model, "45+78=")["logits"].shape == (6, 12)
    assert len(hl.generate(model, [model.vocab.encode("45+78=")])[0]) == 4
