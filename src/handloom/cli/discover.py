"""handloom discover: better constructions for a problem, by search and by a transformer trained on the best ones."""

import os
import sys
import time
from contextlib import suppress
from inspect import Parameter
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.options import JsonOption, option, option_parameters, print_json, takes
from handloom.cli.size_runs import run_sweep
from handloom.cli.target_runs import run_targets

if TYPE_CHECKING:
    from handloom.cli.live.discovery import DiscoveryView
    from handloom.cli.time_limit import Tell
    from handloom.discover.loop.start import Discovery

PROBLEM_HELP = "A problem with its parameters (isosceles:n=16, or several sizes: n=6..16), or a Python file with one."
RUN = "Run"
EACH = 30.0  # seconds of each run that is compared, by default
ARM_COUNT = 5  # of a comparison (discover/loop/compare.py)
SINGLE = ["seed", "generations", "store", "start", "on", "device"]  # options that several seeds do not take
NOT_COMPARED = [*SINGLE, "until", "out", "model", "proposals"]


def loop_settings() -> list[Parameter]:
    from handloom.discover.loop.plan import Plan
    from handloom.learn.settings import options_of

    return option_parameters(options_of(Plan))


@takes(loop_settings)
def discover(
    context: typer.Context,
    problem: Annotated[
        str | None,
        typer.Argument(metavar="PROBLEM", help=f"{PROBLEM_HELP} Without one: list them.", show_default=False),
    ] = None,
    seconds: Annotated[float | None, option("Stop after S seconds.", RUN, metavar="S", min=0)] = None,
    minutes: Annotated[float | None, option("Stop after M minutes.", RUN, metavar="M", min=0)] = None,
    generations: Annotated[int | None, option("Stop after N generations.", RUN, metavar="N", min=1)] = None,
    until: Annotated[float | None, option("Stop at this score.", RUN, metavar="X")] = None,
    out: Annotated[Path | None, option("The run's folder [runs/PROBLEM-1, -2, …].", RUN, metavar="FOLDER")] = None,
    resume: Annotated[Path | None, option("Resume the run in this folder.", RUN, metavar="FOLDER")] = None,
    store: Annotated[Path | None, option("The file of records [records.sqlite].", RUN, metavar="FILE")] = None,
    start: Annotated[
        list[str] | None,
        option("Start from a file, from records, a record's number, or a smaller size.", RUN, "--from", metavar="WHAT"),
    ] = None,
    on: Annotated[
        str, option("threads, or ray: the workers of a Ray cluster [threads].", RUN, metavar="NAME")
    ] = "threads",
    device: Annotated[str, option("Where the model is trained, cpu or cuda [cpu].", RUN, metavar="NAME")] = "cpu",
    compare: Annotated[
        bool, option("A fair trial of the model: five arms, --seconds [30] for each of --seeds.", RUN, "--compare")
    ] = False,
    seeds: Annotated[
        int, option("Seeds for --compare [5]; with --until, the time that each takes.", RUN, metavar="N", min=2)
    ] = 5,
    as_json: JsonOption = False,
    **choices: Any,
) -> None:
    """Search for better constructions; each one found is verified and kept. A run ends on Ctrl-C, or as --seconds,
    --minutes, --generations or --until say; --resume continues it.

    \b
    handloom discover isosceles:n=16 --seconds 20
    handloom discover my_problem.py --minutes 10 --smaller 4
    handloom discover isosceles:n=6..16 --seconds 20 --from smaller
    handloom discover isosceles:n=16 --seconds 20 --from mine.txt
    handloom discover no-three-in-line:n=12 --seconds 30 --compare
    handloom discover isosceles:n=16 --until 28 --seeds 10 --seconds 60
    """
    if problem is None and resume is None:
        check_alone(context)
        list_problems(as_json)
        return
    check_words(context, problem, resume, compare, until, [*choices])
    time_limit = limit(seconds, minutes)
    if compare and problem is not None:
        killable(time_limit or EACH, on, ARM_COUNT * seeds)
        show_comparison(problem, time_limit or EACH, seeds, choices, as_json)
        return
    limits = {"seconds": time_limit, "generations": generations, "until": until}
    how = {"on": on, "device": device, "start": start or [], "began": begins(on), **limits}
    timed = until is not None and first_given(context, ["seeds"]) is not None
    tell = killable(time_limit, on, seeds + 1 if timed else 1)
    if timed or is_kind("targets.json", resume):
        choices |= {"seconds": time_limit} if time_limit is not None else {}
        run_targets(problem, resume, until, seeds, out, choices, as_json)
    elif sweeps(problem, resume):
        run_sweep(problem, resume, store, out, how | choices, as_json, tell)
    elif problem is not None:
        show(begun(problem, store, out, how | choices), as_json, tell)
    elif resume is not None:
        show(reopened(resume, store, {key: value for key, value in how.items() if key != "start"}), as_json, tell)


def check_alone(context: typer.Context) -> None:
    """Refuse options of a run where there is none."""
    names = [one.name for one in context.command.params if one.name not in (None, "as_json")]
    if more := first_given(context, [name for name in names if name is not None]):
        from handloom.core import HandloomError

        raise HandloomError(f"{more} without a PROBLEM: the problems would be listed; name one, or leave it out")


def begins(on: str) -> float | None:
    """When the time starts: now; or, on Ray, when its workers are ready, which may take long."""
    return None if on == "ray" else time.monotonic()


def killable(seconds: float | None, on: str, runs: int = 1) -> "Tell":
    """Continue in a process that is killed if it does not end in time, or that can be lost with Ray. Runs that are
    compared are limited by the time of all cores, and may take several times as long."""
    from handloom.cli.time_limit import STARTING, in_child, tell_nobody

    if on == "ray":
        tell = in_child(seconds, STARTING, "its Ray node was lost")
        only_python_on_standard_error()
        return tell
    if seconds is None:
        return tell_nobody
    return in_child(runs * seconds, slack=4.0 * (os.cpu_count() or 1) * runs * seconds if runs > 1 else 0.0)


def only_python_on_standard_error() -> None:
    """Hide what Ray's C++ parts print there when a worker is lost."""
    with suppress(OSError, ValueError):  # it is captured, or closed
        ours = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1, errors="replace")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        sys.stderr = ours


def check_words(
    context: typer.Context,
    problem: str | None,
    resume: Path | None,
    compare: bool,
    until: float | None,
    chosen: list[str],
) -> None:
    """Refuse options that are missing, or do not go together, before the run starts."""
    from importlib.util import find_spec
    from math import isnan

    from handloom.core import HandloomError

    if problem is not None and resume is not None:
        raise HandloomError(f"{problem} and --resume {resume}: a resumed run has its problem; leave one of them out")
    if resume is not None and (more := first_given(context, [*chosen, "out", "start", "compare", "seeds"])):
        raise HandloomError(f"{more} with --resume: a resumed run keeps the settings it began with; leave it out")
    if compare and (more := first_given(context, NOT_COMPARED)):
        raise HandloomError(f"{more} with --compare: all arms run for --seconds, with --seeds seeds; leave it out")
    if not compare and until is None and (more := first_given(context, ["seeds"])):
        raise HandloomError(f"{more} is for --compare, or --until X; --seed gives one run its seed")
    timed = not compare and problem is not None and first_given(context, ["seeds"])
    if timed and (more := first_given(context, SINGLE)):
        raise HandloomError(f"{more} with --until and --seeds: each seed runs alone until the score; leave it out")
    if (compare or timed) and problem is not None and sweeps(problem, None):
        raise HandloomError(f"{problem}: a range of sizes is for a sweep (expected one size here); name one size")
    if until is not None and isnan(until):
        raise HandloomError("--until nan is no score; give a number")
    if not find_spec("numba"):
        raise HandloomError("discover needs numba, which is not installed: pip install 'handloom[discover]'")


def first_given(context: typer.Context, names: list[str]) -> str | None:
    """The first of these options that the user gave, as it is written."""
    flags = {one.name: one.opts[0] for one in context.command.params}
    sources = {name: context.get_parameter_source(name) for name in names}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    return flags[given[0]] if given else None


def limit(seconds: float | None, minutes: float | None) -> float | None:
    """The limit in seconds, the sooner of the two; None: until Ctrl-C."""
    if seconds is None and minutes is None:
        return None
    return min(seconds if seconds is not None else inf, 60 * minutes if minutes is not None else inf)


def sweeps(problem: str | None, resume: Path | None) -> bool:
    """Whether several sizes are run, one after the other."""
    from handloom.discover.size_ranges import has_range

    return has_range(problem) if problem is not None else is_kind("sweep.json", resume)


def is_kind(name: str, resume: Path | None) -> bool:
    """Whether the folder to resume has this file, which tells of what several runs it is."""
    return resume is not None and (resume / name).is_file()


def begun(problem: str, store: Path | None, out: Path | None, how: dict[str, Any]) -> "Discovery":
    from handloom.discover.loop.start import begin

    return begin(problem, store=store or "records.sqlite", folder=out or True, **how)


def reopened(folder: Path, store: Path | None, how: dict[str, Any]) -> "Discovery":
    from handloom.discover.loop.start import reopen

    return reopen(folder, store, **how)


def show(discovery: "Discovery", as_json: bool, tell: "Tell") -> None:
    """Run it, and show its progress and its result."""
    from handloom.cli.live.discovery import DiscoveryView
    from handloom.view.pages.discovery import run_page

    folder, store = discovery.folder, discovery.store
    assert folder is not None
    tell(folder=str(folder), made=[str(one) for one in discovery.made], store=str(store.path))
    with DiscoveryView() as view:
        run(discovery, view)
    page = run_page(discovery)
    if as_json:
        print_json(discovery.to_json())
    elif discovery.best is None:
        print(discovery.sentence())
    else:
        print(discovery.sentence())
        if discovery.only_greedy:
            print("no search was made, so this is only greedy; give it more time or more --attempts", file=sys.stderr)
        default = store.path.absolute() == Path("records.sqlite").absolute()
        where = "" if default else f" --store {store.path}"
        print(
            f"handloom records {discovery.problem}{where} shows what was found; the run is on {page}", file=sys.stderr
        )
    if discovery.halted:
        print(f"stopped; handloom discover --resume {folder} continues", file=sys.stderr)
        raise typer.Exit(130)


def run(discovery: "Discovery", view: "DiscoveryView") -> None:
    """A run that has lost its workers can be resumed; the error says how."""
    from handloom.core import HandloomError
    from handloom.discover.loop.executors import Lost

    try:
        discovery.run(view)
    except Lost as error:
        raise HandloomError(f"{error}; handloom discover --resume {discovery.folder} resumes the run") from error


def list_problems(as_json: bool) -> None:
    """Print the built-in problems."""
    from handloom.discover.catalogue import PROBLEMS
    from handloom.tasks.naming import usage

    known = [{"name": usage(name, entry.make), "about": entry.about} for name, entry in PROBLEMS.items()]
    if as_json:
        print_json(known)
        return
    width = max(len(one["name"]) for one in known)
    for one in known:
        print(f"{one['name']:{width}}  {one['about']}")


def show_comparison(problem: str, seconds: float, seeds: int, choices: dict[str, Any], as_json: bool) -> None:
    """Compare runs with the model, without it, and with what it must beat."""
    from handloom.cli.live.discovery import DiscoveryView
    from handloom.discover.loop.compare import compare

    with DiscoveryView() as view:
        result = compare(problem, seconds, seeds, choices, view)
    if as_json:
        print_json(result.to_json())
    else:
        print(result)
