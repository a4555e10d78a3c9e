"""handloom discover: better constructions for a problem, by search and by a transformer that learns from the best."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handloom.cli.arguments import JsonOption, SeedOption, option, print_json

if TYPE_CHECKING:
    from handloom.cli.time_limit import Tell
    from handloom.discover.loop.loop import Discovery
    from handloom.discover.records.store import Record

PROBLEM_HELP = "A problem with its parameters (isosceles:n=16), or a Python file that defines `problem`."
RUN, MODEL, SEARCH = "Run", "Model", "Search"


def discover(
    context: typer.Context,
    problem: Annotated[
        str | None,
        typer.Argument(metavar="PROBLEM", help=f"{PROBLEM_HELP} Without one: list them.", show_default=False),
    ] = None,
    seconds: Annotated[float | None, option("Stop after so many seconds.", RUN, min=0)] = None,
    minutes: Annotated[float | None, option("Stop after so many minutes.", RUN, min=0)] = None,
    generations: Annotated[int | None, option("Stop after so many generations.", RUN, min=1)] = None,
    until: Annotated[float | None, option("Stop at this score.", RUN)] = None,
    out: Annotated[Path | None, option("The run's folder [runs/PROBLEM-1].", RUN, metavar="FOLDER")] = None,
    resume: Annotated[Path | None, option("Go on with the run in this folder.", RUN, metavar="FOLDER")] = None,
    store: Annotated[Path | None, option("The file of records [records.sqlite].", RUN)] = None,
    seed: SeedOption = 0,
    on: Annotated[str, option("threads, or ray: the workers of a Ray cluster [threads].", RUN)] = "threads",
    device: Annotated[str, option("Where the model learns, cpu or cuda [cpu].", RUN)] = "cpu",
    compare: Annotated[
        bool, option("With and without the model, --seconds [30] for each of --seeds.", RUN, "--compare")
    ] = False,
    seeds: Annotated[int, option("With --compare: over so many seeds [5].", RUN, min=2)] = 5,
    no_model: Annotated[bool, option("Search alone, for the same time.", MODEL, "--no-model")] = False,
    tokens: Annotated[
        str | None, option("A token a cell (cells), a chosen element (sparse), a piece (bpe) [by size].", MODEL)
    ] = None,
    smaller: Annotated[int | None, option("Learn from so many smaller sizes besides [0].", MODEL, min=0)] = None,
    learn: Annotated[int | None, option("Steps of training a generation [300].", MODEL, min=0)] = None,
    samples: Annotated[int | None, option("Constructions sampled a generation [300].", MODEL, min=1)] = None,
    temperature: Annotated[float | None, option("To begin with [1]; rises when samples repeat.", MODEL)] = None,
    feedback: Annotated[
        float | None, option("One deviation better is learnt e^FEEDBACK times as often [0].", MODEL)
    ] = None,
    layers: Annotated[int | None, option("[4]", MODEL, min=1)] = None,
    heads: Annotated[int | None, option("[4]", MODEL, min=1)] = None,
    width: Annotated[int | None, option("d_model [64].", MODEL, min=1)] = None,
    symmetry: Annotated[
        str | None, option("Such as mirror, or none; a wrong name lists them [all in turn].", SEARCH)
    ] = None,
    attempts: Annotated[int | None, option("Searches a generation [400].", SEARCH, min=1)] = None,
    steps: Annotated[int | None, option("Steps of a short search [4000].", SEARCH, min=1)] = None,
    keep: Annotated[int | None, option("Constructions kept to learn from [500].", SEARCH, min=10)] = None,
    as_json: JsonOption = False,
) -> None:
    """Look for better constructions. What is found is verified and kept. It goes on until Ctrl-C, or as long as
    --seconds, --minutes, --generations or --until say; --resume goes on with it.

    \b
    handloom discover isosceles:n=16 --seconds 20
    handloom discover my_problem.py --minutes 10 --smaller 4
    handloom discover no-three-in-line:n=12 --seconds 30 --compare
    """
    if problem is None and resume is None:
        list_problems(as_json)
        return
    given = locals()
    check_words(context, problem, resume, compare, until)
    choices = {name: given[name] for name in NAMES.split() if given[name] is not None} | {"model": not no_model}
    time_limit = limit(seconds, minutes)
    limits = {"seconds": time_limit, "generations": generations, "until": until, "began": begins(on)}
    if compare and problem is not None:
        killable(time_limit or EACH, on, 2 * seeds)
        show_comparison(problem, time_limit or EACH, seeds, choices, as_json)
        return
    tell = killable(time_limit, on)
    if problem is None:
        assert resume is not None
        show(reopened(resume, store, {"on": on, "device": device} | limits), as_json, tell)
    else:
        show(begun(problem, store, out, {"on": on, "device": device} | limits | choices), as_json, tell)


EACH = 30.0  # seconds of each run that is compared, by default
NAMES = "seed tokens smaller learn samples temperature feedback layers heads width symmetry attempts steps keep"


def begins(on: str) -> float | None:
    """When the time begins to count: now; or, on Ray, when its workers are there, which may take long."""
    return None if on == "ray" else time.monotonic()


def killable(seconds: float | None, on: str, runs: int = 1) -> "Tell":
    """From here on in a process that is killed if it does not end in time, or that can be lost with Ray. Runs that are
    compared are limited by the time of all cores, and may take several times as long."""
    from handloom.cli.time_limit import STARTING, in_child, say_nothing

    if on == "ray":
        tell = in_child(seconds, STARTING, "the node of Ray that it was on has gone")
        only_python_on_standard_error()
        return tell
    if seconds is None:
        return say_nothing
    return in_child(runs * seconds, slack=4.0 * (os.cpu_count() or 1) * runs * seconds if runs > 1 else 0.0)


def only_python_on_standard_error() -> None:
    """What Ray's C++ parts print there when something is lost is not for users."""
    with suppress(OSError, ValueError):  # it is captured, or closed
        ours = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1, errors="replace")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        sys.stderr = ours


def check_words(
    context: typer.Context, problem: str | None, resume: Path | None, compare: bool, until: float | None
) -> None:
    """Say what is missing, or too much, before anything is begun."""
    from importlib.util import find_spec
    from math import isnan

    from handloom.core import HandloomError

    if problem is not None and resume is not None:
        raise HandloomError(
            f"{problem} and --resume {resume}: a run that goes on has its problem; leave one of them out"
        )
    if resume is not None and (more := first_given(context, f"{NAMES} out compare seeds no_model")):
        raise HandloomError(f"{more} with --resume: a run goes on with the settings that it began with; leave it out")
    if compare and (more := first_given(context, "seed generations until out store on device no_model")):
        raise HandloomError(f"{more} with --compare: both ways run for --seconds, with --seeds seeds; leave it out")
    if not compare and (more := first_given(context, "seeds")):
        raise HandloomError(f"{more} is for --compare; --seed gives one run its seed")
    if until is not None and isnan(until):
        raise HandloomError("--until nan is no score; give a number")
    if not find_spec("numba"):
        raise HandloomError("discover needs numba, which is not installed: pip install 'handloom[discover]'")


def first_given(context: typer.Context, names: str) -> str | None:
    """The first of these options that the user gave."""
    sources = {name: context.get_parameter_source(name) for name in names.split()}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    return f"--{given[0].replace('_', '-')}" if given else None


def limit(seconds: float | None, minutes: float | None) -> float | None:
    """In seconds; without a word, until Ctrl-C."""
    if seconds is None and minutes is None:
        return None
    return (seconds or 0.0) + 60 * (minutes or 0.0)


def begun(problem: str, store: Path | None, out: Path | None, how: dict[str, Any]) -> "Discovery":
    from handloom.discover.loop.runs import begin, keep
    from handloom.runs import Folder

    discovery = begin(problem, store=store or "records.sqlite", **how)
    keep(discovery, Folder.create(out, problem), problem)
    return discovery


def reopened(folder: Path, store: Path | None, how: dict[str, Any]) -> "Discovery":
    from handloom.discover.loop.runs import reopen

    return reopen(folder, store, **how)


def show(discovery: "Discovery", as_json: bool, tell: "Tell") -> None:
    """Run it, and let the user see it."""
    from handloom.cli.live.discovery import DiscoveryView
    from handloom.view.pages.discovery import discovery_page

    folder, store = discovery.folder, discovery.store
    assert folder is not None
    tell(folder=str(folder), made=[str(one) for one in discovery.made], store=str(store.path))
    with DiscoveryView() as view:
        discovery.watch = view
        run(discovery)
    best = discovery.best
    page = discovery_page(folder, discovery.problem, discovery.records, folder / "page.html")
    result = {
        "run": str(folder),
        "problem": str(discovery.problem),
        "best": best.score if best else None,
        "best_known": discovery.problem.best_known,
        "verified": best is not None,
        "only_greedy": is_only_greedy(discovery, best),
        "seconds": round(discovery.elapsed(), 2),
        "generations": discovery.generation,
        "steps": discovery.steps,
        "origin": best.origin if best else None,
        "construction": best.construction if best else None,
    }
    if as_json:
        print_json(result)
    elif best is None:
        print(f"{discovery.problem}: nothing was found in {discovery.elapsed():.1f} s; give it longer")
    else:
        print(sentence(discovery, best))
        if is_only_greedy(discovery, best):
            print("the run ended while it was preparing, so this is only greedy; give it longer", file=sys.stderr)
        where = "" if store.path == Path("records.sqlite") else f" --store {store.path}"
        print(
            f"handloom records {discovery.problem}{where} shows what was found; the run is on {page}", file=sys.stderr
        )
    if discovery.halted:
        print(f"stopped; handloom discover --resume {folder} goes on", file=sys.stderr)
        raise typer.Exit(130)


def run(discovery: "Discovery") -> None:
    """One that has lost its workers can be resumed; say how."""
    from handloom.core import HandloomError
    from handloom.discover.loop.executors import Lost

    try:
        discovery.run()
    except Lost as error:
        raise HandloomError(f"{error}; handloom discover --resume {discovery.folder} resumes the run") from error


def is_only_greedy(discovery: "Discovery", best: "Record | None") -> bool:
    """Whether the run ended before any search made a step."""
    return best is not None and best.origin.get("how") == "greedy" and discovery.steps == 0


def sentence(discovery: "Discovery", best: "Record") -> str:
    """What was found, in a line."""
    from handloom.discover.loop.progress import came_from

    known = discovery.problem.best_known
    beside = "" if known is None else f" (best known: {known})"
    news = ", which would be new" if known is not None and best.score > known else ""
    stored = discovery.store.best(discovery.problem.name)
    more = f"; {discovery.store.path} has {stored.score} from before" if stored and stored.score > best.score else ""
    return f"{discovery.problem}: {best.score}{beside}{news}, verified; found by {came_from(best.origin)}{more}"


def list_problems(as_json: bool) -> None:
    """The problems that there are."""
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
    """With and without the model."""
    from handloom.cli.live.discovery import DiscoveryView
    from handloom.discover.loop.compare import compare

    with DiscoveryView() as view:
        result = compare(problem, seconds, seeds, choices, view)
    if as_json:
        print_json(result.to_json())
    else:
        print(result)
