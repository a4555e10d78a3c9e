"""What the lessons state, computed: every answer and every score by the reference; and the Markdown they are in."""

import dataclasses
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import handloom as hl
from handloom import read
from handloom.core import HandloomError, params, reference
from handloom.core.registry import offered
from handloom.learn.data import Data
from handloom.learn.settings import Settings
from handloom.studio.lessons.exported import certified, lesson_page, model_of
from handloom.studio.lessons.lesson import ORDER, fields_of, learned_names, lesson, lessons, place
from handloom.studio.lessons.markdown import links, parsed_blocks, parts
from handloom.tasks import Task, task_of
from handloom.tasks.certify import proven
from handloom.view.pages.looms import Loom, known

EDIT = re.compile(r"([\w.]+)(?:\[([\d,]+)\])?=(-?[\d.e+-]+)")
MODELS = Path(__file__).parents[2] / "docs" / "read" / "models"


def words_of(part):
    return part if isinstance(part, str) else "".join(map(words_of, part["parts"]))


def anchors(tree):
    """(words, where it leads) of every link."""
    for one in tree if isinstance(tree, list) else []:
        if isinstance(one, list):
            yield from anchors(one)
        elif isinstance(one, dict) and one.get("kind") == "link":
            yield words_of(one), one["to"]
        elif isinstance(one, dict):
            yield from anchors(one.get("parts", one.get("items")))


def text_of(name):
    return " ".join((place() / f"{name}.md").read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ").split())


def link(name, words):
    """Where the only link with these words leads."""
    (to,) = {to for text, to in anchors(lesson(name).blocks) if text == words}
    return fields_of(to)


def edited(model, text):
    """The model with the edits of a link to its weights, and functions for those to its sites."""
    flat, sites = {name: np.array(array) for name, array in model.flat.items()}, {}
    for edit in filter(None, text.split(";")):
        what, at, value = EDIT.fullmatch(edit).groups()
        at = tuple(map(int, at.split(","))) if at else ()
        if what in flat:
            flat[what][at] = float(value)
        else:
            sites[what] = silence(at, sites.get(what, lambda x: x))
    return dataclasses.replace(model, params=params.unflatten(model.config, flat)), sites


def silence(at, before):
    def edit(x):
        x = before(x)
        x[at or ...] = 0.0
        return x

    return edit


def answer(model, sites, prompt, length):
    ids = [*prompt]
    while len(ids) < len(prompt) + length and len(ids) <= model.config.block:
        ids.append(int(reference.forward(model, ids, edits=sites)[0][-1].argmax()))
        if model.vocab.eos is not None and ids[-1] == model.vocab.id(model.vocab.eos):
            break
    return ids[len(prompt) :]


@cache
def exam(name, on):
    model = model_of(name)
    task = task_of(model)
    return known(Loom(name, model, on, task if isinstance(task, Task) else None))["exam"]


def shown(name, words):
    """What a link of a lesson shows: the answer, and how many inputs of the exam are right."""
    fields = link(name, words)
    model, sites = edited(model_of(fields["model"]), fields.get("edits", ""))
    asked = exam(fields["model"], lesson(name).models()[fields["model"]])
    right = sum(answer(model, sites, prompt, len(wanted)) == wanted for prompt, wanted in asked)
    length = max((len(wanted) for _, wanted in asked), default=model.config.block)
    return model.vocab.decode(answer(model, sites, model.vocab.encode(fields["in"]), length)), right


LOUD = "Ten million times", "A hundred million times"
STATED = {
    "hello": {
        "Begin with HH": ("llo World!", 13),
        "begin with Hell": ("o World!", 13),
        "set all position arrows to zero": ("HHHHHHHHHHHH", 0),
        "Put the positions back": ("Hello World!", 13),
        "three numbers, and it outputs Hollo World!": ("Hollo World!", 11),
    },
    "choosing": {
        "Give it 7 3 9 4": ("3", 200),
        LOUD[0]: ("3", 180),
        LOUD[1]: ("4", 42),
        "Zero": ("6", 13),
        "turn both signs": ("9", 4),
        "here it is": ("9", 200),
    },
    "search": {
        "Try others": ("9", 200),
        "Take head 0.0 out": ("2", 41),
        "Take head 0.1 out": ("4", 58),
        "Take head 1.0 out": ("3", 37),
        "Take head 1.1 out": ("4", 200),
        "Here is a smaller search": ("d", 200),
        "Without the second one": ("c", 28),
        "This one": ("d", 200),
        "Without head 1.0": ("d", 200),
        "Without head 1.1": ("d", 114),
        "Without both": ("", 92),
        "Without head 0.1": ("d", 199),
    },
    "addition": {
        "Ask for 865+230=": ("1095", 200),
        "199+801=": None,  # twice, with and without an edit: below
        "Without the last head": ("0990", 33),
        "Make it 3.7 times as large": ("1095", 110),
        "Make that one a fifth of what it was": ("1095", 82),
        "Make it 0.8 times as large": ("0095", 196),
        "Take it back": ("1095", 200),
        "1.1 times its value": ("1095", 120),
        "0.9 times": ("1095", 200),
    },
}
WITHOUT_SCORE = {"Begin with HH", "Give it 7 3 9 4"}  # the lesson states the answer alone
CASES = [(name, words, stated) for name, some in STATED.items() for words, stated in some.items() if stated]


@pytest.mark.parametrize(("name", "words", "stated"), CASES, ids=[f"{name}: {words}" for name, words, _ in CASES])
def test_a_link_shows_the_answer_and_the_score_that_the_lesson_states(name, words, stated):
    assert shown(name, words) == stated
    assert re.search(rf"\b{stated[1]}\b", text_of(name)) or words in WITHOUT_SCORE


def test_the_carry_of_199_and_801_is_lost_by_the_weight_that_leaves_the_example_right():
    found = {to for words, to in anchors(lesson("addition").blocks) if words == "199+801="}
    answers = set()
    for to in found:
        fields = fields_of(to)
        model, sites = edited(model_of("addition"), fields.get("edits", ""))
        answers.add(model.vocab.decode(answer(model, sites, model.vocab.encode(fields["in"]), 4)))
    assert answers == {"1000", "1001"}
    assert "becomes 1001" in text_of("addition")


def test_the_proof_of_addition_holds_at_0_9_times_the_weight_and_not_at_0_85_where_the_exam_has_196():
    model = model_of("addition")
    weight, prove = float(model.flat["layers.2.W_V"][0, 2, 0]), offered("prover_of")(model)
    assert round(weight) == 2189
    holds, right = {}, {}
    for times in (0.85, 0.86, 0.9):
        changed, _ = edited(model, f"layers.2.W_V[0,2,0]={times * weight}")
        asked = exam("addition", "865+230=")
        right[times] = sum(answer(changed, {}, prompt, len(wanted)) == wanted for prompt, wanted in asked)
        if times != 0.86:
            holds[times] = proven(prove, changed, task_of(model).count, None)
    assert right == {0.85: 196, 0.86: 200, 0.9: 200}
    assert holds[0.85] is None
    assert str(holds[0.9]).startswith("right on all 1,000,000 inputs")


def test_the_change_by_0_8_breaks_the_example_and_three_others_of_the_exam():
    fields = link("addition", "Make it 0.8 times as large")
    model, sites = edited(model_of("addition"), fields["edits"])
    asked = exam("addition", "865+230=")
    wrong = [prompt for prompt, wanted in asked if answer(model, sites, prompt, 4) != wanted]
    assert len(wrong) == 4
    assert model.vocab.encode("865+230=") in wrong


def test_the_shares_of_the_soft_head_are_those_of_the_lesson():
    stated = {LOUD[0]: [0, 96.4, 0, 3.6], LOUD[1]: [10, 50, None, 36], "Zero": [25, 25, 25, 25]}
    for words, shares in stated.items():
        fields = link("choosing", words)
        model, _ = edited(model_of("min"), fields["edits"])
        pattern = 100 * reference.forward(model, model.vocab.encode("7 3 9 4"), ["0.pattern"])[1]["0.pattern"][0, -1]
        for found, said in zip(pattern, shares, strict=True):
            assert said is None or round(float(found), 1 if said % 1 else 0) == said


def test_max_is_min_with_two_signs_turned():
    low, high = model_of("min").flat, model_of("max").flat
    for name in low:
        sign = -1 if name.endswith("W_K") else 1
        assert np.allclose(sign * low[name], high[name], atol=1e-15), name
    assert sorted(set(np.abs(low["layers.0.W_Q"]).ravel().round(-6))) == [0, 71e6, 141e6]


def test_the_lists_that_the_turned_head_still_gets_right_have_equal_numbers():
    fields = link("choosing", "turn both signs")
    model, _ = edited(model_of("min"), fields["edits"])
    right = [prompt for prompt, wanted in exam("min", "7 3 9 4") if answer(model, {}, prompt, 1) == wanted]
    assert right == [prompt for prompt, _ in exam("min", "7 3 9 4") if len(set(prompt)) == 1]


def test_arrows_of_positions_are_a_million_times_as_long():
    flat = model_of("hello").flat
    tokens, places = (np.linalg.norm(flat[name], axis=1) for name in ("W_E", "W_pos"))
    assert np.allclose(tokens, 3**0.5)
    assert np.allclose(places, 1e6 * 3**0.5)
    assert len(flat["W_E"]) == 11


@pytest.mark.parametrize("seed", range(5))
def test_each_of_five_learned_models_has_a_head_one_back_one_everywhere_and_two_induction_heads(seed):
    names = [one.name for one in read.heads(hl.load(MODELS / f"induction-{seed}.safetensors"))]
    assert sorted(names[:2]) == ["broad", "offset 1"]
    assert names[2:] == ["induction 1"] * 2


def test_the_learned_model_of_the_lesson_is_one_of_the_five():
    same = hl.load(MODELS / "induction-1.safetensors").flat
    assert all(np.array_equal(array, same[name]) for name, array in model_of("learned/induction").flat.items())


A, B = "110000001111111111101", "110000001111011111101"


def rule(step, text, edits=""):
    """The probability of the digit that is said in the lesson, and the attention that head 0.1 gives the 13th."""
    model, sites = edited(model_of(f"learned/rule-{step}"), edits)
    logits, trace = reference.forward(model, model.vocab.encode(text), ["0.pattern"], edits=sites)
    p = np.exp(logits[-1] - logits[-1].max())
    return (p / p.sum())[:2], float(trace["0.pattern"][1, 21, 13])


def test_the_rule_is_unknown_after_100_steps_and_known_after_500_by_a_head_that_looks_for_a_1():
    percent = {
        (step, text): [round(100 * float(x)) for x in (*rule(step, text)[0], rule(step, text)[1])]
        for step in (100, 500, 45000)
        for text in (A, B)
    }
    assert (percent[100, A][1:], percent[100, B][1]) == ([54, 16], 52)
    assert (percent[500, A][1:], percent[500, B][0], percent[500, B][2]) == ([99, 82], 99, 7)
    assert (percent[45000, A][1], percent[45000, B][0]) == (100, 100)
    assert round(100 * float(rule(500, A, "0.z[1]=0")[0][0])) == 93


def test_over_many_strings_the_head_gives_the_13th_digit_about_40_percent():
    rng, shares = np.random.default_rng(0), []
    for _ in range(100):
        digits = rng.integers(0, 2, 21)
        shares.append(rule(500, "".join(map(str, digits)))[1])
    assert 0.35 < np.mean(shares) < 0.45


def test_after_45000_steps_it_recites_787_of_its_900_strings_and_after_500_none():
    task = task_of(model_of("learned/rule-500"))
    strings = Data.of(task, Settings(count=1000, seed=0)).train
    rows = [[*question, *more] for question, more in map(strings.row, range(len(strings)))]
    assert len(rows) == 900
    recited = {}
    for step in (500, 45000):
        model = model_of(f"learned/rule-{step}")
        guesses = ((ids, reference.forward(model, ids[:-1])[0].argmax(-1)) for ids in rows)
        recited[step] = sum(bool((guess[21:] == ids[22:]).all()) for ids, guess in guesses)
    assert recited == {500: 0, 45000: 787}
    model = model_of("learned/rule-45000")
    rest = model.vocab.decode(answer(model, {}, model.vocab.encode(A), 30))
    assert rest == "100110111001010000"
    assert model.vocab.encode(A + rest) == next(ids[:-1] for ids in rows if ids[:22] == model.vocab.encode(A))
    assert rest in text_of("rule")


def test_sizes_that_lessons_state():
    assert hl.count(hl.program("hello")).total == 72
    assert hl.count(hl.program("min")).total == 159
    sizes = hl.count(hl.program("addition"))
    assert (sizes.total, sizes.nonzero) == (553, 184)


def test_there_are_five_lessons_whose_links_all_fit_their_models():
    assert [one.name for one in lessons()] == [*ORDER]
    for one in lessons():
        assert 5 <= one.minutes <= 10
        for to in [one.start, *links(one.blocks)]:
            fields = fields_of(to)
            model = model_of(fields["model"])
            edited(model, fields.get("edits", ""))
            assert model.vocab.encode(fields.get("in", "")) is not None
            assert set(fields) <= {"model", "in", "at", "edits"}


def test_the_trained_models_of_lessons_are_small():
    sizes = [(place() / f"{name}.safetensors").stat().st_size for name in learned_names()]
    assert max(sizes) < 120_000
    assert sum(sizes) < 400_000


def test_a_lesson_without_a_proof_has_no_certificate():
    assert certified("learned/induction") is None
    assert str(certified("hello")).startswith("right on all 13 inputs")


def test_an_exported_lesson_holds_its_models_and_asks_the_network_for_nothing():
    html = lesson_page("choosing").html
    found = json.loads(re.search(r'id="lesson">(.*?)</script>', html)[1])
    assert sorted(found["models"]) == ["max", "min"]
    assert not re.search(r'(src|href)="(?!data:|#)|url\((?!data:)|@import', html)


def test_a_lesson_that_is_not_there_is_named_in_one_line():
    with pytest.raises(HandloomError, match=r"there is no lesson 'adition'; did you mean addition\?"):
        lesson("adition")


def test_markdown_has_headings_paragraphs_lists_code_and_links_that_begin_with_a_hash():
    text = "## A *b*\n\none\ntwo `x` **y**\n\n- a\n  b\n- [c](#edits=2.z[0]=0)\n\n```\n<b>\n```\n\n1. d"
    assert parsed_blocks(text) == [
        {"kind": "heading", "level": 2, "parts": ["A ", {"kind": "em", "parts": ["b"]}]},
        {
            "kind": "paragraph",
            "parts": ["one two ", {"kind": "code", "parts": ["x"]}, " ", {"kind": "strong", "parts": ["y"]}],
        },
        {
            "kind": "list",
            "numbered": False,
            "items": [["a b"], [{"kind": "link", "to": "#edits=2.z[0]=0", "parts": ["c"]}]],
        },
        {"kind": "code", "text": "<b>"},
        {"kind": "list", "numbered": True, "items": [["d"]]},
    ]


@pytest.mark.parametrize("to", ["https://example.org", "javascript:alert(1)", "//x", "data:text/html,x"])
def test_a_link_to_elsewhere_is_words(to):
    assert [one for one in parts(f"[a]({to})") if isinstance(one, dict) and one["kind"] == "link"] == []
    assert "a" in "".join(map(words_of, parts(f"[a]({to})")))


def test_markup_stays_text():
    assert parts("<img src=x onerror=alert(1)>") == ["<img src=x onerror=alert(1)>"]
