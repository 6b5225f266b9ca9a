"""The package itself: its settings are those of the library, its documentation and types are true."""

import doctest
import inspect
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import sklearn

import tinytrain
from tinytrain import (
    TinytrainClassifier,
    TinytrainEnsembleClassifier,
    TinytrainEnsembleRegressor,
    TinytrainRegressor,
    _ensemble,
    _estimators,
    _search,
    _settings,
)


@pytest.mark.parametrize(
    "estimator, without",
    [
        (TinytrainClassifier, _settings.OF_VALUES),
        (TinytrainRegressor, _settings.OF_CLASSES),
        (TinytrainEnsembleClassifier, _settings.OF_VALUES),
        (TinytrainEnsembleRegressor, _settings.OF_CLASSES),
    ],
)
def test_parameters_are_the_settings_of_the_library(estimator, without):
    parameters = inspect.signature(estimator).parameters
    own = {
        "early_stopping",
        "class_weight",
        "categorical",
        "missing",
        "device",
        "random_state",
        "n_jobs",
        "warm_start",
        "verbose",
        "callbacks",
    }
    if issubclass(estimator, TinytrainRegressor):
        own.remove("class_weight")
    if hasattr(estimator(), "n_estimators"):
        own = (own | {"n_estimators", "n_picks", "param_distributions"}) - {"warm_start", "callbacks"}
    assert set(parameters) == (set(_settings.NAMES) - without) | own
    for name in parameters:
        assert f"\n{name} : " in estimator.__doc__, name
    for section in ("Parameters", "Attributes", "Examples"):
        assert f"\n\n{section}\n{'-' * len(section)}\n" in estimator.__doc__
    assert "--" not in estimator.__doc__.replace("``tinytrain train --verbose``", "").replace("----------", "").replace("--------", "").replace("-----", "")


# What numpydoc finds wrong but for these: a longer summary, and a list of what else there is.
NOT_NEEDED = {"ES01", "SA01"}


def public():
    """The names of the package, its functions and classes, and the methods that are not scikit-learn's."""
    yield "tinytrain"
    for name in sorted(set(tinytrain.__all__) - {"__version__"}):
        yield f"tinytrain.{name}"
        entry = getattr(tinytrain, name)
        for method in dir(entry) if inspect.isclass(entry) else ():
            found = getattr(entry, method)
            if not method.startswith("_") and callable(found) and found.__module__.startswith("tinytrain"):
                yield f"tinytrain.{name}.{method}"


@pytest.mark.parametrize("name", list(public()))
def test_documentation_is_of_the_form_of_numpydoc(name):
    validate = pytest.importorskip("numpydoc.validate").validate
    found = [error for error in validate(name)["errors"] if error[0] not in NOT_NEEDED]
    assert not found


@pytest.mark.parametrize("module", [_ensemble, _estimators, _search])
def test_examples_give_what_they_say(module):
    found = doctest.testmod(module)
    assert found.failed == 0 and found.attempted > 4


def test_the_example_of_the_page_gives_what_it_says():
    page = Path(__file__).parents[1] / "README.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.failed == 0 and found.attempted > 3


# Stubs are the same for all versions; mypy is installed beside the newest (requirements.txt).
NEWEST = pytest.mark.skipif(sklearn.__version__ < "1.7", reason="types are checked with scikit-learn 1.7 and newer")


@NEWEST
def test_types_are_those_of_the_package():
    here = Path(__file__).parent
    words = ["tinytrain", "--mypy-config-file", here / "mypy.ini", "--allowlist", here / "stubtest.txt"]
    words += ["--ignore-disjoint-bases", "--ignore-unused-allowlist"]
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_is_quick():
    before = "import numpy, sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass, time"
    code = f"{before}; a = time.perf_counter(); import tinytrain; print(time.perf_counter() - a)"
    best = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(3))
    assert best < 0.5, best
    assert "TinytrainSearchCV" in dir(tinytrain)


@NEWEST
def test_typed_programs_pass_mypy(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\n"
        "from tinytrain import TinytrainClassifier, TinytrainEnsembleRegressor, TinytrainSearchCV, load\n"
        "x = np.zeros((4, 2))\n"
        "classifier: TinytrainClassifier = TinytrainClassifier(lr=0.1, hidden=(8, 4)).fit(x, [0, 1, 0, 1])\n"
        "search = TinytrainSearchCV(classifier, {'lr': [0.1]}).fit(x, [0, 1, 0, 1])\n"
        "ensemble = TinytrainEnsembleRegressor(n_estimators=2, lr=0.1).fit(x, x)\n"
        "print(ensemble.estimators_[0].n_outputs_, ensemble.estimator_weights_.sum())\n"
        "print(classifier.predict_proba(x).shape, search.best_params_['lr'], load('m').n_iter_)\n"
    )
    config = Path(__file__).parent / "mypy.ini"

    def check():
        words = ["--strict", "--config-file", config, program]
        return subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True, cwd=tmp_path)

    done = check()
    assert done.returncode == 0, done.stdout
    program.write_text(program.read_text() + "TinytrainClassifier(lr='fast', rate=1)\n")
    done = check()
    assert done.returncode == 1 and "rate" in done.stdout and '"lr"' in done.stdout


def test_the_sources_hold_all_that_an_install_needs(tmp_path):
    maturin = shutil.which("maturin", path=str(Path(sys.executable).parent))
    if maturin is None:
        pytest.skip("no maturin")
    root = Path(__file__).parents[2]
    words = ["sdist", "--manifest-path", root / "python" / "Cargo.toml", "--out", tmp_path]
    done = subprocess.run([maturin, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as files:
        names = {name.split("/", 1)[1] for name in files.getnames()}
    # The library as the package builds it: every source that it, a shader, or a picture includes.
    tracked = subprocess.run(["git", "ls-files", "src", "shaders", "python/src"], capture_output=True, text=True, cwd=root)
    if tracked.returncode == 0:
        assert set(tracked.stdout.split()) <= names
    package = {f"tinytrain/{path.name}" for path in (root / "python" / "tinytrain").glob("*.py*") if path.suffix != ".pyc"}
    assert package <= names and {"Cargo.lock", "pyproject.toml", "python/Cargo.toml", "PKG-INFO"} <= names
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert f"licences/{licence}" in names
        assert (root / "python" / "licences" / licence).read_text() == (root / licence).read_text()
    assert not any(name.endswith((".so", ".whl", ".safetensors")) for name in names)
