"""How hard heads look, and how loudly heads and neurons write: the large numbers of hand-written transformers, with the
reason for each. The book's programs have the book's values.

HARD: queries are multiplied by it. The runner-up must lose by SURE or more, and how near it comes is a matter of the
encoding. LOUD: what is written is multiplied by it, so that layer norm forgets what stood there before. It must exceed
what is to be forgotten by more than tokens are alike, and its square must be a float32, below 3e38.
"""

SURE = 40.0  # a lead in the scores that leaves nothing to others: exp(−40) is less than the rounding of 1

HARD = 1e8  # n points on a circle: neighbours' products differ by 60 / n², more than SURE / HARD up to n = 10,000
HARD_SUMS = 1e6  # the book's for sums, where the circle is that of a few positions
HARD_SORT = 1e20  # the book's for sort, whose points come as near to each other as 2^−n

LOUD = 1e6  # one token against another; twice, with its square, one layer against the next
LOUD_SEARCH = 1e4  # few tokens, which are far apart, and room for float32
LOUD_COUNTS = 1e5  # the mean over up to 16 numbers, of which one is at least 1/32, against tokens
LOUD_SUMS = 1e10  # what an MLP outputs, against sums that attention has written, loudly too
LOUD_SORT = 1e20  # the book's for sort; in float32 its square is infinite, and 1e8 is loud enough
