"""What several tests need."""

import numpy as np
import pytest
from sklearn.datasets import load_iris


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def mixed():
    """Rows of a frame with numbers, text, booleans, dates and missing cells, and whether each is of class `yes`."""
    generator = np.random.default_rng(5)
    rows = 240
    number = generator.normal(size=rows)
    color = generator.choice(["red", "green", "blue"], size=rows)
    flag = generator.random(rows) < 0.5
    day = np.datetime64("2024-01-01") + generator.integers(0, 300, size=rows)
    answer = np.where((number > 0) ^ (color == "red"), "yes", "no")
    number[::17] = np.nan
    color = color.astype(object)
    color[5::23] = None
    return {"number": number, "color": color, "flag": flag, "day": day.astype("datetime64[ms]")}, answer
