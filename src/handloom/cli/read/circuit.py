"""handloom read circuit: the edges that a model's answers need."""

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, ModelArgument
from handloom.cli.read.output import (
    MethodOption,
    PairsOption,
    PictureOption,
    SeedOption,
    TaskOption,
    check_picture,
    tell,
)


def circuit(
    model: ModelArgument,
    task: TaskOption = None,
    pairs: PairsOption = None,
    seed: SeedOption = 0,
    method: MethodOption = None,
    output: PictureOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the true circuit of a model, by cutting every edge on pairs of inputs.

    An edge is real if cutting it alone changes an answer. The circuit is certified if the real edges alone keep every
    answer on other pairs. For a compiled model the edges that the compiler states are compared. With --method the
    picture tells the edges that a method would choose from those that are real.

    \b
    handloom read circuit search
    handloom read circuit compiled/sort:n=5,digits=4 --method flow -o sort.svg
    handloom read circuit runs/addition-1 --pairs 1000 --json
    """
    from handloom.read import circuit as find_circuit
    from handloom.read.close_look import scores_of
    from handloom.read.user_methods import method_of
    from handloom.view.svg.circuit_graph import circuit_drawing

    check_picture(output)
    chosen = None if method is None else method_of(method)
    with SlowProgress("cutting edges") as progress:
        found = find_circuit(model, task, pairs=pairs, seed=seed, progress=progress)
    scores = None if chosen is None or output is None else scores_of(chosen, model, task, pairs, seed)
    tell(found, as_json, output, lambda: circuit_drawing(found, scores), f"{model}: {len(found.real)} real edges")
