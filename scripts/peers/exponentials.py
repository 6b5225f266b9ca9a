"""Ten thousand matrices of 2 x 2 numbers from 0 to 1 and their exponentials: what SimpleChains' example learns.

Plain Python, so that whoever writes the table needs no library.
"""

import random

ROWS = 10_000


def exponential(a, b, c, d):
    """Of the matrix [[a, b], [c, d]], by its series."""
    term = total = (1.0, 0.0, 0.0, 1.0)
    for n in range(1, 25):
        w, x, y, z = term
        term = ((w * a + x * c) / n, (w * b + x * d) / n, (y * a + z * c) / n, (y * b + z * d) / n)
        total = tuple(sum(pair) for pair in zip(total, term))
    return total


def table():
    """Rows of four inputs and four values."""
    numbers = random.Random(1)
    inputs = [[round(numbers.random(), 6) for _ in range(4)] for _ in range(ROWS)]
    return [(*row, *exponential(*row)) for row in inputs]


def write(path):
    """The same as CSV."""
    with open(path, "w") as file:
        file.write("a,b,c,d,w,x,y,z\n")
        file.writelines(",".join(f"{number:.9g}" for number in row) + "\n" for row in table())
