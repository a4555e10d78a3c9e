"""handloom score: the probability of texts under a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handloom.cli.live.progress import SlowProgress
from handloom.cli.options import JsonOption, ModelArgument, find_model, print_json

if TYPE_CHECKING:
    from handloom.core import Score


def score(
    model: ModelArgument,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT…", help="Texts to score.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Score every line of this text file.")] = None,
    prompt: Annotated[str, typer.Option(help="A prompt before each text, which is not scored.")] = "",
    end: Annotated[bool, typer.Option("--end/--open", help="Whether the text must end there, or may continue.")] = True,
    tokens: Annotated[bool, typer.Option("--tokens", help="Show the probability of every token.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Score each TEXT under a model: the logarithm of its probability, and its perplexity per token.

    \b
    handloom score runs/names-1 emma xqzt
    handloom score runs/names-1 emma --tokens
    handloom score runs/names-1 ma --prompt em --open
    handloom score runs/names-1 --file others.txt
    handloom score addition 1023 --prompt 045+978=
    """
    from handloom.core import HandloomError, Score
    from handloom.core import score as score_of
    from handloom.core.errors import shown
    from handloom.tasks.textfile import read_lines

    if not texts and file is None:
        raise HandloomError("score: no text to score; write texts behind the model, or give a file with --file")
    if texts and file is not None:
        raise HandloomError(f"score: both texts and --file {file} (expected one of the two); leave one out")
    lines = texts or read_lines(file or Path())
    chosen = find_model(model)
    scores = []
    with SlowProgress("texts scored") as progress:
        for text in lines:
            try:
                scores.append(score_of(chosen, text, prompt, end=end))
            except HandloomError as error:
                raise HandloomError(f"{shown(text)}: {error}") from error
            progress(len(scores), len(lines))
    named = list(zip(lines, scores, strict=True))
    whole = Score.joined(scores)
    if as_json:
        found = [{"text": text, **one.to_json()} for text, one in named]
        print_json({"log_probability": whole.log_probability, "perplexity": whole.finite_perplexity, "texts": found})
        return
    for text, one in named:
        print(f"{one}: {text}")
        if tokens:
            print(table(one))
    if len(scores) > 1:
        print(f"{whole}: all {len(scores):,}")


def table(found: "Score") -> str:
    """One line per token, with its probability as a number and as a bar."""
    from math import exp

    names = [token if token.isprintable() and token.strip() else repr(token)[1:-1] for token in found.tokens]
    wide = max(map(len, names))
    chances = [exp(log) for log in found.log_probabilities]
    return "\n".join(
        f"  {name:<{wide}}  {chance:7.2%}  {'█' * round(30 * chance)}".rstrip()
        for name, chance in zip(names, chances, strict=True)
    )
