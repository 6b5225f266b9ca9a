"""Whether the package that is installed works: it trains, its program predicts the same, and it is not the one beside the sources.

usage: python installed.py
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

import tinytrain
from sklearn.datasets import load_iris

place = pathlib.Path(tinytrain.__file__)
assert pathlib.Path(sys.prefix) in place.parents, place
X, y = load_iris(return_X_y=True)
classifier = tinytrain.TinytrainClassifier(random_state=1).fit(X, y)
score = classifier.score(X, y)
print(f"accuracy on iris: {score:.3f}")
assert score > 0.9, score
with tempfile.TemporaryDirectory() as folder:
    model, rows = pathlib.Path(folder, "iris.safetensors"), pathlib.Path(folder, "iris.csv")
    classifier.save(model)
    with open(rows, "w", newline="") as file:
        csv.writer(file).writerows(X.tolist())
    words = [sys.executable, "-m", "tinytrain", "predict", "--model", model, "--device", "cpu", rows]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert [int(line.split(",")[0]) for line in said.splitlines()[1:]] == classifier.predict(X).tolist()
