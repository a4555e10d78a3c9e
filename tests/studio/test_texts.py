"""What the studio's server does with texts, edits, files and certificates, without a browser."""

import os
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handloom as hl
from draws import models as models_drawn
from handloom.core import HandloomError
from handloom.studio import Studio, job_routes, models, saving, texts
from handloom.studio.certificates import digest_of
from handloom.studio.edits import Edit, edited, read_edit
from handloom.write.taotp import TextError, load_taotp, read_taotp, with_weights, write_taotp

MINE = """from handloom.language import *

@program(asks="[a-c]{1,3}>")
def backwards():
    return at(2 * find(">") - position - 1)
"""


@pytest.fixture
def studio(here):
    studio = Studio(here)
    yield studio
    studio.jobs.close()


def test_a_text_gives_the_model_and_the_page_that_its_program_gives(studio):
    text = texts.source(studio, {"model": "addition"})["text"]
    by_text = texts.read(studio, {"text": text, "name": "addition"})
    by_name = models.open_model(studio, {"model": "addition"})
    assert by_text["model"] == by_name["model"]
    assert by_text["page"] == {name: by_name["page"][name] for name in by_text["page"]}


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "complaint"),
    [
        ("circle(11)", "circl(11)", 6, 16, "there is no function 'circl'"),
        ("'tokens': [", "'tokens': ['é', 'x', ", 2, 5, "tokens has 13 names"),
        ("10]),\n", "10])\n", 7, None, "cannot be read"),
        ("rows(circle(11), [1", "rows(eye(4), [1", 7, 22, "there is no row"),
        ("1e6 * rows(circle(11), [1, 2, 3, 3, 4, 5, 6, 4, 7, 3, 8, 9, 10])", "[[1, 2]]", 7, 5, "pos_emb is 1 × 2"),
        ("'separator': ''", "'separatr': ''", 3, 5, "there is no entry 'separatr'"),
        ("'notes': {", "'config': {'eps': 0.5,\n 'head': 1}, 'notes': {", 9, 2, "there is no entry 'config.head'"),
    ],
)
def test_an_error_names_the_line_in_which_the_entry_begins(studio, old, new, line, column, complaint):
    text = write_taotp(hl.program("hello"))
    assert old in text
    with pytest.raises(HandloomError, match=complaint) as caught:
        texts.read(studio, {"text": text.replace(old, new), "name": "hello"})
    assert "\n" not in str(caught.value)
    assert caught.value.more["line"] == line
    assert column is None or caught.value.more["column"] == column


def test_an_error_in_a_layer_names_its_line_whatever_characters_stand_before_it():
    text = "{'tok_emb': eye(2), # ü\x0c\u2028\n'block_size': 2, 'layers': [{},\n{'ü': 1}]}"
    with pytest.raises(TextError, match=r"line 3: there is no entry 'layers\[1\].ü'") as caught:
        read_taotp(text)
    assert (caught.value.line, caught.value.column) == (3, 2)


def test_a_text_with_edits_in_it_reads_as_the_edited_model_and_keeps_all_other_lines():
    model = hl.program("addition")
    text = write_taotp(model).replace("{\n", "{  # mine\n", 1)
    changed = edited(model, [Edit("layers.2.W_V", (0, 2, 0), 8000.0), Edit("W_E", (3, 1), -0.5)])
    new, changes = with_weights(text, changed)
    again = read_taotp(new)
    assert all(np.array_equal(array, again.flat[name]) for name, array in changed.flat.items())
    assert [change.name for change in changes] == ["tok_emb", "layers[2].V"]
    assert new.startswith("{  # mine\n")
    assert len(set(text.split("\n")) - set(new.split("\n"))) == 2


@settings(max_examples=40)
@given(models_drawn(), st.integers(0, 2**32 - 1))
def test_any_edits_of_any_model_can_be_written_into_its_text(model, seed):
    rng = np.random.default_rng(seed)
    names = [name for name, array in model.flat.items() if array.size]
    edits = []
    for _ in range(4):
        array = model.flat[name := names[rng.integers(len(names))]]
        at = tuple(int(rng.integers(size)) for size in array.shape)
        edits.append(Edit(name, at, float(np.float32(rng.choice([0.0, 1.0, rng.normal()])))))
    changed = edited(model, edits)
    again = read_taotp(with_weights(write_taotp(model), changed)[0])
    assert all(np.array_equal(array, again.flat[name]) for name, array in changed.flat.items())


@pytest.mark.parametrize("text", ["2.z[0]=0", "1.mlp_post[2]=0", "3.attn_out=0", "0.mlp_out=0", "pos_embed=0"])
def test_what_was_taken_out_of_a_run_is_taken_out_of_the_weights(text):
    model, edit = hl.program("addition"), read_edit(text)

    def out(x):
        if edit.what.endswith(".z"):
            x[..., edit.at[0], :, :] = 0
        elif edit.at:
            x[..., edit.at[0]] = 0
        else:
            x[...] = 0
        return x

    ids = model.vocab.encode("865+230=")
    expected = hl.trace(model, ids, want="logits", edits={edit.what: out})["logits"]
    assert np.array_equal(hl.trace(edited(model, [edit]), ids, want="logits")["logits"], expected)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nonsense", "is no edit"),
        ("W_E[0]=1", "has the shape"),
        ("W_E[99,0]=1", "has the shape"),
        ("2.z[7]=0", "no such head"),
        ("2.z[0]=1", "no weight does the same"),
        ("2.pattern[0,1,1]=0", "no weight does the same"),
        ("9.attn_out=0", "no weight does the same"),
        ("W_E[0,0]=1e999", "NaN or infinity"),
    ],
)
def test_an_edit_that_no_weights_have_is_refused_in_one_line(text, complaint):
    with pytest.raises(HandloomError, match=complaint):
        edited(hl.program("addition"), [read_edit(text)])


def test_a_model_of_too_many_numbers_has_no_text_and_nobody_waits_for_one(studio):
    found = texts.source(studio, {"model": "book/addition"})  # writing it would take nine seconds
    assert found["text"] is None
    assert found["why"] == "it has 360,576 numbers (expected up to 100,000 in a text); change it in Run"


def test_save_writes_below_the_folder_whole_and_never_over_what_is_there(studio):
    assert saving.save(studio, {"path": "a.safetensors", "model": "hello", "edits": []}) == {"model": "a.safetensors"}
    text = "# mine\n" + write_taotp(hl.program("hello"))
    saving.save(studio, {"path": "a.taotp", "text": text})
    assert (studio.folder / "a.taotp").read_text() == text
    for path, complaint in [
        ("a.taotp", "there is such a file"),
        ("../b.taotp", "is not below"),
        ("b.py", "unknown ending"),
        ("no/b.taotp", "there is no folder"),
        (".b.taotp", "hidden"),
    ]:
        with pytest.raises(HandloomError, match=complaint):
            saving.save(studio, {"path": path, "model": "hello"})
    with pytest.raises(HandloomError, match="line 1"):
        saving.save(studio, {"path": "b.taotp", "text": "{"})
    assert sorted(os.listdir(studio.folder)) == ["a.safetensors", "a.taotp"]


def test_a_taotp_file_with_edits_is_saved_with_them(studio):
    saving.save(
        studio, {"path": "b.taotp", "text": write_taotp(hl.program("hello")), "name": "b", "edits": ["W_E[0,0]=5"]}
    )
    assert load_taotp(studio.folder / "b.taotp").flat["W_E"][0, 0] == 5


def test_a_certificate_is_remembered_by_the_weights_and_the_studio_says_which_job_looks_for_one(studio):
    asked = {"kind": "certify", "model": "min:n=5"}
    digest = digest_of(hl.program("min:n=5"))
    with pytest.raises(HandloomError, match="has changed since"):
        job_routes.start(studio, asked | {"digest": "other"})
    job = job_routes.start(studio, asked | {"digest": digest})
    assert known(studio, "min:n=5")["certifying"] in (job["id"], None)
    end = time.monotonic() + 60
    while known(studio, "min:n=5")["certifying"] is not None:
        assert time.monotonic() < end
        time.sleep(0.05)
    page = known(studio, "min:n=5")
    assert page["certificate"] == {"text": str(hl.certify("min:n=5")), "method": "exhaustive"}
    assert known(studio, "min:n=4")["certificate"] is None


def known(studio, name):
    return models.open_model(studio, {"model": name})["page"]


def test_a_program_in_a_python_file_is_opened_if_the_command_line_named_it(here):
    file = here / "mine.py"
    file.write_text(MINE)
    with pytest.raises(HandloomError, match="name it on the command line"):
        models.open_model(Studio(here), {"model": "mine.py"})
    studio = Studio(here, ("mine.py",))
    assert models.open_model(studio, {"model": "mine.py"})["page"]["exam"]
    assert texts.source(studio, {"model": "mine.py"})["source"]["text"] == file.read_text()


def test_kept_models_of_a_run_are_listed_in_order(studio):
    (folder := studio.folder / "run").mkdir()
    (folder / "run.json").write_text("{}")
    for name in ("model-1000.safetensors", "model-200.safetensors", "model.safetensors"):
        hl.save(hl.program("hello"), folder / name)
    kept = known(studio, "run/model-200.safetensors")["kept"]
    assert [(one["step"], one["model"]) for one in kept] == [
        (200, "run/model-200.safetensors"),
        (1000, "run/model-1000.safetensors"),
        (None, "run"),
    ]
