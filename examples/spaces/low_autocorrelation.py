"""Words: n bits whose copies, shifted by any amount, agree with it about as often as not (the Bernasconi model).

    handloom discover examples/spaces/low_autocorrelation.py:n=40 --seconds 10

Every bit is in every sum, so a change of one of them moves all: local search has no cheap moves. The energy is the sum
of the squared correlations at all shifts, and is to be small.
"""

from handloom.discover import Problem, word

LEAST = {  # Packebusch and Mertens, arXiv:1512.02475, by exhaustive search
    **{10: 13, 13: 6, 20: 26, 25: 36, 27: 37, 30: 59, 35: 73, 40: 108},
    **{45: 118, 50: 153, 55: 171, 60: 218},
}


def problem(n: int = 40) -> Problem:
    return Problem(
        word(n, "01"),
        score=energy,
        minimise=True,
        best_known=LEAST.get(n),
        source="the minimum: Packebusch and Mertens, arXiv:1512.02475" if n in LEAST else "",
        about=f"words of {n} bits with little autocorrelation",
    )


def energy(bits):
    n, total = len(bits), 0
    for shift in range(1, n):
        same = 0
        for i in range(n - shift):
            same += 1 - 2 * (bits[i] ^ bits[i + shift])
        total += same * same
    return total
