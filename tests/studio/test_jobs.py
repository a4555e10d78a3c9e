"""Jobs are real child processes here: they tell what happens, stop when they are told, and lose nothing however they or
the studio end."""

import base64
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import handloom as hl
from handloom.runs.folder import Folder
from handloom.studio.events import Events
from handloom.studio.jobs import Jobs
from training_runs import OWN, RULE, wait_for

SMALL = {"layers": 1, "heads": 2, "width": 8, "count": 100, "samples": 10, "lanes": 1}
ENDLESS = {"steps": 10**7, "every": 10**6, **SMALL}  # no evaluation, so no checkpoint, before it is stopped
LEARN = {"kind": "learn", "task": RULE, "choices": ENDLESS}


class Studio:
    """Jobs, and what they told."""

    def __init__(self, **more):
        self.events = Events()
        self.jobs = Jobs(self.events, **more)

    def told(self, job, kind):
        return [event for event in self.events.since(0) if event["job"] == job.id and event["type"] == kind]

    def wait(self, job, kind="done"):
        """The first event of a kind; an error that is not waited for fails the test."""
        wait_for(lambda: self.told(job, kind) or self.told(job, "error"))
        assert self.told(job, kind), self.told(job, "error")
        return self.told(job, kind)[0]

    def ran(self, spec, kind="done"):
        return self.wait(self.jobs.start(spec), kind)


@pytest.fixture
def studio(here):
    made = Studio()
    yield made
    made.jobs.close()
    assert all(job.process.returncode is not None for job in made.jobs.jobs.values())


def weights(model):
    return {name: array.tobytes() for name, array in model.flat.items()}


def state_of(studio, job):
    return next(one["state"] for one in studio.jobs.list() if one["id"] == job.id)


def saved_step(folder):
    return Folder(Path(folder)).position()["step"]


def test_a_stopped_run_is_saved_and_resumed_it_has_the_bits_of_one_that_never_stopped(studio):
    job = studio.jobs.start(LEARN)
    studio.wait(job, "frame")
    studio.jobs.halt(job.id)
    done = studio.wait(job)
    assert done["halted"]
    assert state_of(studio, job) == "stopped"
    assert saved_step(done["run"]) == done["step"] > 0
    more = done["step"] + 20
    resumed = studio.jobs.start({"kind": "resume", "run": done["run"], "steps": more})
    assert studio.wait(resumed)["step"] == more
    assert state_of(studio, resumed) == "done"
    straight = hl.train(RULE, **ENDLESS | {"steps": more})
    assert weights(hl.load(done["run"])) == weights(straight.model())


def test_a_run_of_training_tells_its_whole_story(studio):
    job = studio.jobs.start({"kind": "learn", "task": RULE, "choices": SMALL | {"steps": 30, "every": 10, "keep": 15}})
    done = studio.wait(job)
    begun = studio.told(job, "begun")[0]
    assert (begun["title"], begun["steps"], begun["settings"]["every"]) == (RULE, 30, 10)
    assert begun["config"]["layers"] == 1
    evaluations = studio.told(job, "evaluation")
    assert [one["step"] for one in evaluations] == [10, 20, 30]
    lines = Folder.open(Path(done["run"])).lines()
    assert [one["held_out"] for one in evaluations] == [line["held_out"] for line in lines]
    assert [(one["step"], os.path.exists(one["file"])) for one in studio.told(job, "saved")] == [(15, True), (30, True)]
    assert all(event["at"] >= 0 for event in studio.events.since(0))
    again = studio.jobs.start({"kind": "resume", "run": done["run"], "steps": 40})
    studio.wait(again)
    assert [one["step"] for one in studio.told(again, "evaluation")] == [10, 20, 30, 40]
    assert [one["step"] for one in studio.told(again, "saved")] == [15, 30]


def test_samples_carry_the_verdict_of_the_task_and_the_digits_of_the_rule(studio):
    job = studio.jobs.start(
        {"kind": "learn", "task": RULE, "choices": SMALL | {"steps": 300, "every": 300, "samples": 30, "rate": 0.01}}
    )
    studio.wait(job)
    task, samples = hl.task(RULE), studio.told(job, "evaluation")[0]["samples"]
    assert len(samples) == 30
    for one in samples:
        text = one["text"]
        right = 6 <= len(text) <= 9 and text[1] == text[4]
        assert (one["mark"] in ("right", "known")) == right
        assert one["marked"] == [at for at in (1, 4) if at < len(text)]
        assert (one["mark"] == "malformed") == (not task.formed(text))
    assert {"right", "known"} & {one["mark"] for one in samples}


def test_the_last_frame_shows_what_the_saved_model_attends_to(studio):
    job = studio.jobs.start({"kind": "learn", "task": RULE, "choices": SMALL | {"steps": 40, "layers": 2}})
    done = studio.wait(job)
    frame = studio.told(job, "frame")[-1]
    shape = frame["layers"], frame["heads"], frame["size"], frame["size"]
    assert frame["step"] == 40
    shown = np.frombuffer(base64.b64decode(frame["data"]), np.uint8).reshape(shape)
    model = hl.load(done["run"])
    found = hl.trace(model, [model.vocab.id(token) for token in frame["tokens"]], "*.pattern")
    assert np.abs(shown / 255 - np.stack([found["0.pattern"], found["1.pattern"]])).max() < 0.6 / 255


def test_a_killed_process_is_an_error_of_one_line_and_its_run_can_be_resumed(studio):
    other = studio.jobs.start(LEARN | {"out": "other"})
    job = studio.jobs.start(LEARN | {"choices": ENDLESS | {"every": 20}})
    folder = studio.wait(job, "evaluation") and studio.told(job, "begun")[0]["folder"]
    os.kill(job.process.pid, signal.SIGKILL)
    message = studio.wait(job, "error")["message"]
    assert message == "the process was killed (signal 9); resume continues from its last checkpoint"
    assert state_of(studio, job) == "failed"
    more = saved_step(folder) + 5
    assert studio.ran({"kind": "resume", "run": folder, "steps": more})["step"] == more
    assert state_of(studio, other) == "running"


def test_a_loss_that_is_not_a_number_is_an_error_of_one_line(studio):
    job = studio.jobs.start({"kind": "learn", "task": RULE, "choices": SMALL | {"rate": 1e6, "clip": 0.0}})
    message = studio.wait(job, "error")["message"]
    assert message.startswith("the loss is not a number at step")
    assert "\n" not in message


def test_two_jobs_run_at_once_and_closing_saves_both(studio):
    jobs = [studio.jobs.start(LEARN) for _ in range(2)]
    with pytest.raises(hl.HandloomError, match=r"2 jobs are running \(expected up to 2 at once\)"):
        studio.jobs.start(LEARN)
    for job in jobs:
        studio.wait(job, "step")
    studio.jobs.close()
    for job in jobs:
        assert studio.told(job, "done")[0]["halted"]
        assert saved_step(studio.told(job, "begun")[0]["folder"]) > 0
    with pytest.raises(hl.HandloomError, match="the studio is closing"):
        studio.jobs.start(LEARN)


STUDIO = """
import sys, time
from handloom.studio.events import Events
from handloom.studio.jobs import Jobs

events = Events()
jobs = Jobs(events)
job = jobs.start({spec!r})
try:
    for event in events.follow(0, lambda: False):
        if event["type"] == "step":
            print(job.process.pid, flush=True)
        if event["type"] == "error":
            sys.exit(event["message"])
except KeyboardInterrupt:
    jobs.close()
"""


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_a_run_is_saved_when_the_studio_is(here, how):
    """Killed: the child's standard input closes. Interrupted: Ctrl-C reaches the studio and the child."""
    code = STUDIO.format(spec=LEARN | {"out": "run"})
    studio = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    child = int(studio.stdout.readline())
    if how == "killed":
        os.kill(studio.pid, signal.SIGKILL)
    else:
        os.killpg(studio.pid, signal.SIGINT)
    assert studio.wait() == (-9 if how == "killed" else 0)
    studio.stdout.close()
    wait_for(lambda: not is_alive(child))
    assert saved_step("run") > 0
    assert hl.resume("run", steps=saved_step("run") + 1).where.step == saved_step("run")


def test_what_a_users_function_prints_is_not_taken_for_events(here):
    (here / "mine.py").write_text("print('{')\n" + OWN.format(draw="'0110'", right="print(1) or True"))
    studio = Studio(files=["mine.py"])
    done = studio.ran({"kind": "learn", "task": "mine.py", "choices": SMALL | {"steps": 5}})
    assert done["success"] is not None
    again = studio.ran({"kind": "resume", "run": done["run"], "steps": 6})  # from the copy that the run keeps
    assert again["step"] == 6
    studio.jobs.close()


EVIL = "open('ran', 'w')\ntask = problem = None\n"


def test_python_files_that_were_not_named_are_never_run(studio, here):
    (here / "evil.py").write_text(EVIL)
    for spec in (
        {"kind": "learn", "task": "evil.py:n=3", "files": ["evil.py"]},
        {"kind": "discover", "problem": "./evil.py", "files": ["evil.py"]},
    ):
        message = studio.ran(spec, "error")["message"]
        assert message.startswith("evil.py: a Python file that the studio may not run")
    (here / "json.py").write_text(EVIL)  # a module of that name is imported by the child
    studio.ran({"kind": "learn", "task": RULE, "choices": SMALL | {"steps": 1}})
    assert not (here / "ran").exists()


def test_what_a_job_cannot_do_is_said_in_one_line(studio):
    with pytest.raises(hl.HandloomError, match="unknown kind"):
        studio.jobs.start({"kind": "destroy"})
    with pytest.raises(hl.HandloomError, match=r"job 7: there is none \(expected one of \[\]\)"):
        studio.jobs.halt(7)
    assert studio.ran({"kind": "learn", "task": 3}, "error")["message"].startswith("learn: task=3 (expected text)")
    wrong = {"kind": "learn", "task": RULE, "choices": {"layers": "many"}}
    assert "layers='many' must be a whole number" in studio.ran(wrong, "error")["message"]
    assert studio.jobs.list()[-1]["state"] == "failed"


def test_a_search_tells_of_each_improvement_and_is_resumed_after_a_stop(studio):
    quick = {"kind": "discover", "problem": "isosceles:n=5", "choices": {"model": False}, "seconds": 0}
    job = studio.jobs.start(quick)
    done = studio.wait(job)
    improved = studio.told(job, "improved")
    assert done["best"] == improved[-1]["score"] == len(improved[-1]["construction"])
    assert os.path.getsize(done["page"]) > 1000
    assert studio.told(job, "begun")[0]["space"] == {"kind": "grid", "sides": [5, 5], "length": 25}
    resumed = studio.jobs.start({"kind": "resume-discover", "run": done["run"]})
    studio.wait(resumed, "stage")
    studio.jobs.halt(resumed.id)
    assert studio.wait(resumed)["halted"]
    assert studio.told(resumed, "improved")[0]["construction"] == improved[0]["construction"]


def test_a_certificate_is_the_one_that_certify_gives_and_a_stopped_check_says_nothing(studio):
    done = studio.ran({"kind": "certify", "model": "min:n=5"})
    assert done["text"] == str(hl.certify("min:n=5"))
    assert done["certificate"]["method"] == "exhaustive"
    long = studio.jobs.start({"kind": "certify", "model": "min:n=5", "samples": 10**8})
    assert studio.wait(long, "progress")["most"] == 10**8
    studio.jobs.halt(long.id)
    stopped = studio.wait(long)
    assert stopped["halted"]
    assert "certificate" not in stopped
