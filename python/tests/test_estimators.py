"""The estimators as scikit-learn uses them."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification, make_regression
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tinytrain import TinytrainClassifier, TinytrainRegressor, TinytrainSearchCV, _input, load

SMALL = {"hidden": (16,), "epochs": 8, "random_state": 3}


# Small networks, which take less time.
@parametrize_with_checks([TinytrainClassifier(hidden=(32,)), TinytrainRegressor(hidden=(32,))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_fit_learns_and_tells(iris):
    X, y = iris
    classifier = TinytrainClassifier(random_state=1, early_stopping=True, metric="accuracy").fit(X, y)
    assert classifier.score(X, y) > 0.95
    assert list(classifier.classes_) == [0, 1, 2] and classifier.n_features_in_ == 4
    assert len(classifier.loss_curve_) == len(classifier.validation_scores_) == classifier.n_iter_
    assert 1 <= classifier.best_iteration_ <= classifier.n_iter_
    best = max(range(classifier.n_iter_), key=lambda epoch: classifier.validation_scores_[epoch])
    assert classifier.validation_scores_[classifier.best_iteration_ - 1] == classifier.validation_scores_[best]


def test_learning_rate_factors_are_a_dict_or_text(iris):
    X, y = iris
    text = "biases=0.5,layers=1,0.1"
    factors = {"biases": np.float32(0.5), "layers": [1, 0.1]}
    fits = [TinytrainClassifier(**SMALL, lr_factors=given).fit(X, y) for given in (text, factors, None)]
    losses = [fit.loss_curve_ for fit in fits]
    assert losses[0] == losses[1] != losses[2]
    with pytest.raises(ValueError, match="lr_factors: .*found \"bias=1"):
        TinytrainClassifier(lr_factors={"bias": 1}).fit(X, y)
    with pytest.raises(ValueError, match="finite"):
        TinytrainClassifier(lr_factors={"biases": float("nan")}).fit(X, y)


@pytest.mark.parametrize("names", [[0, 1, 2], ["b", "a10", "a2"], [1.0, 2.0, -3.0], [False, True], ["1", "01", "x"], ["", "a", "b"]])
def test_labels_of_any_kind_come_back(iris, names):
    X, y = iris
    if len(names) == 2:
        X, y = X[:100], y[:100]
    labels = np.asarray(names)[y]
    classifier = TinytrainClassifier(hidden=(16,), random_state=1, preset="plain").fit(X, labels)
    assert (classifier.classes_ == np.unique(labels)).all()
    assert (classifier.predict(X) == labels).mean() > 0.95
    likely = classifier.classes_[classifier.predict_proba(X).argmax(axis=1)]
    assert (likely == classifier.predict(X)).all()


def test_the_order_of_rows_and_the_number_of_threads_do_not_matter(iris):
    X, y = iris
    first = TinytrainClassifier(**SMALL, n_jobs=1).fit(X, y).predict_proba(X)
    order = np.random.default_rng(0).permutation(len(y))
    assert (TinytrainClassifier(**SMALL, n_jobs=2).fit(X[order], y[order]).predict_proba(X) == first).all()
    assert (TinytrainClassifier(**SMALL | {"random_state": 4}).fit(X, y).predict_proba(X) != first).any()


@pytest.mark.parametrize("constant", [0.0, -3.5, 2.0**40, 1e-40])
def test_values_that_are_all_the_same_are_predicted(iris, constant):
    X, _ = iris
    y = np.full(len(X), constant)
    for scale_target in ("standard", "none") if abs(constant) < 1e3 else ("standard",):
        regressor = TinytrainRegressor(hidden=(16,), epochs=200, random_state=1, scale_target=scale_target).fit(X, y)
        # As many epochs leave scikit-learn's network 0.2 away from 0, and 3 from -3.5.
        assert np.abs(regressor.predict(X) - constant).max() < 0.2
    both = TinytrainRegressor(hidden=(16,), epochs=200, random_state=1, early_stopping=True).fit(X, np.column_stack([y, X[:, 0]])).predict(X)
    assert np.abs(both[:, 0] - constant).max() < 0.5 and np.corrcoef(both[:, 1], X[:, 0])[0, 1] > 0.9


def test_whole_weights_are_repeated_rows_and_zero_is_none(iris):
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = TinytrainClassifier(**SMALL).fit(X, y, sample_weight=weights)
    repeated = TinytrainClassifier(**SMALL).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert (weighted.predict_proba(X) == repeated.predict_proba(X)).all()
    half = TinytrainClassifier(**SMALL).fit(X, y, sample_weight=weights / 2 + 0.25)
    assert (half.predict_proba(X) != weighted.predict_proba(X)).any()


def test_several_values_a_row():
    X, y = make_regression(300, 6, n_targets=2, random_state=0)
    regressor = TinytrainRegressor(random_state=0, epochs=60, preset="plain").fit(X, y)
    assert regressor.predict(X).shape == y.shape and regressor.score(X, y) > 0.9
    with pytest.warns(DataConversionWarning):
        flat = TinytrainRegressor(**SMALL).fit(X, y[:, :1])
    assert flat.predict(X).shape == (300,)


def test_copies_predict_the_same(iris):
    X, y = iris
    classifier = TinytrainClassifier(**SMALL).fit(X, y)
    expected = classifier.predict_proba(X)
    for copied in (pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier)):
        assert (copied.predict_proba(X) == expected).all()
    assert not hasattr(clone(classifier), "classes_")


def test_rows_one_by_one_are_predicted_as_together(iris):
    X, y = iris
    classifier = TinytrainClassifier(**SMALL).fit(X, y)
    one_by_one = np.vstack([classifier.predict_proba(row[None]) for row in X])
    assert (one_by_one == classifier.predict_proba(X)).all()
    assert (one_by_one == classifier.predict_proba(np.repeat(X, 50, axis=0))[::50]).all()


def test_layouts_and_types_of_arrays_are_the_same_rows(iris):
    X, y = iris
    X = np.round(X * 10).astype(np.float64)
    expected = TinytrainClassifier(**SMALL).fit(X, y).predict_proba(X)
    for same in (np.asfortranarray(X), X.astype(np.float32), X.astype(np.int16), X.astype(np.uint64), X.tolist(), X[::-1][::-1]):
        assert (TinytrainClassifier(**SMALL).fit(same, y).predict_proba(same) == expected).all()


def test_weights_of_classes_count(iris):
    X, y = iris
    plain = TinytrainClassifier(**SMALL).fit(X, y)
    heavy = TinytrainClassifier(**SMALL, class_weight={0: 1, 1: 1, 2: 50}).fit(X, y)
    assert (heavy.predict(X) == 2).sum() > (plain.predict(X) == 2).sum()


def test_callbacks_watch_and_end_a_fit(iris):
    X, y = iris
    seen = []
    classifier = TinytrainClassifier(
        **SMALL | {"epochs": 50}, callbacks=[seen.append, lambda epoch: epoch["epoch"] == 5]
    ).fit(X, y)
    assert [epoch["epoch"] for epoch in seen] == [1, 2, 3, 4, 5] and classifier.n_iter_ == 5
    assert [epoch["loss"] for epoch in seen] == classifier.loss_curve_
    TinytrainRegressor(**SMALL, callbacks=seen.append).fit(X, y.astype(float))
    assert "accuracy" in seen[0] and seen[-1]["epoch"] == SMALL["epochs"] and "accuracy" not in seen[-1]

    def fails(epoch):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        TinytrainClassifier(**SMALL, callbacks=[fails]).fit(X, y)


def test_rows_of_their_own_validate(iris):
    X, y = iris
    split = np.arange(len(y)) % 3 == 0
    held_out = (X[split], y[split])
    fitted = TinytrainClassifier(**SMALL).fit(X[~split], y[~split], eval_set=held_out)
    assert len(fitted.validation_scores_) == fitted.n_iter_
    assert fitted.validation_scores_[fitted.best_iteration_ - 1] == pytest.approx(fitted.score(*held_out))
    weights = np.where(held_out[1] == 1, 5.0, 0.25)
    weighted = TinytrainClassifier(**SMALL).fit(X[~split], y[~split], eval_set=(*held_out, weights))
    assert weighted.validation_scores_[weighted.best_iteration_ - 1] == pytest.approx(weighted.score(*held_out, weights))
    with pytest.raises(ValueError, match="no training row"):
        TinytrainClassifier(**SMALL).fit(X[~split], y[~split], eval_set=(X[split], y[split] + 5))


def test_groups_are_held_out_together(iris):
    X, y = iris
    # Nobody can learn what a group is but by its rows.
    groups = np.arange(len(y)) // 2
    fitted = TinytrainClassifier(**SMALL, validation_fraction=0.3).fit(X, y, groups=groups)
    assert len(fitted.validation_scores_) == fitted.n_iter_
    with pytest.raises(ValueError):
        TinytrainClassifier(**SMALL, validation_fraction=0.3).fit(X, y, groups=groups[1:])


def test_a_warm_start_goes_on(iris):
    X, y = iris
    classifier = TinytrainClassifier(**SMALL, warm_start=True, preset="plain").fit(X, y)
    first = classifier.loss_curve_
    classifier.fit(X, y)
    assert classifier.loss_curve_[0] < first[0] and classifier.loss_curve_[-1] < first[-1]
    with pytest.raises(ValueError, match="warm_start: .* give a 4-17-3 network, and the fit before gave another one"):
        classifier.set_params(hidden=(17,)).fit(X, y)
    classifier.set_params(hidden=(16,))
    with pytest.raises(ValueError, match="X has 2 features, but TinytrainClassifier is expecting 4"):
        classifier.fit(X[:, :2], y)
    with pytest.raises(ValueError, match="same classes as in the previous call"):
        classifier.fit(X, y + 1)
    # Classes without weight are none.
    weights = (y > 0).astype(float)
    rest = TinytrainClassifier(**SMALL, warm_start=True).fit(X, y, sample_weight=weights)
    assert rest.fit(X, y, sample_weight=weights).classes_.tolist() == [1, 2]


def test_a_warm_start_takes_the_same_columns():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"color": ["red", "blue"] * 20, "size": range(40)})
    y = [0, 1] * 20
    classifier = TinytrainClassifier(**SMALL, warm_start=True).fit(X, y)
    before = classifier.predict_proba(X)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.fit(X.rename(columns={"size": "height"}), y)
    # The weights are those of red and blue.
    with pytest.raises(ValueError, match="other categories than in the fit before"):
        classifier.fit(X.replace("red", "green"), y)
    assert (classifier.predict_proba(X) == before).all()
    first = classifier.loss_curve_
    assert classifier.fit(X[::-1], y[::-1]).loss_curve_[0] < first[0]


def test_what_is_wrong_is_said(iris):
    X, y = iris
    with pytest.raises(NotFittedError):
        TinytrainClassifier().predict(X)
    for parameters, message in [
        ({"lr": -1.0}, "learning.rate|lr"),
        ({"hidden": "many"}, "hidden: expected"),
        ({"optimizer": "adamm"}, "optimizer: expected sgd.*adamm"),
        ({"missing": "drop"}, "'missing' parameter .* must be a str among"),
        ({"categorical": ["a"]}, "categorical"),
        ({"device": "no such card"}, "no such card"),
        ({"callbacks": 3}, "callbacks: expected a callable"),
        ({"callbacks": [print, "print"]}, "callbacks: expected a callable"),
    ]:
        with pytest.raises(ValueError, match=message):
            TinytrainClassifier(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TinytrainClassifier(**SMALL).fit(X, y, eval_set=(X, y[1:]))
    holed = X.copy()
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        TinytrainClassifier(**SMALL, missing="error").fit(holed, y)
    with pytest.raises(ValueError, match="infinity"):
        TinytrainClassifier(**SMALL).fit(np.where(np.isnan(holed), np.inf, holed), y)
    with pytest.raises(ValueError, match="smaller lr"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TinytrainRegressor(**SMALL | {"lr": 1e30}).fit(X, X[:, 0])


def test_missing_numbers_are_filled_in(iris):
    X, y = iris
    holed = X.copy()
    holed[::7, 2] = np.nan
    classifier = TinytrainClassifier(random_state=0).fit(holed, y)
    assert classifier.score(holed, y) > 0.9
    other = X.copy()
    other[0, 0] = np.nan
    with pytest.warns(UserWarning, match="no training row"):
        classifier.predict(other)


def test_columns_of_numbers_can_be_categories():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 5, size=(300, 1)).astype(float)
    y = np.isin(X[:, 0], [0, 2, 4]).astype(int)
    categories = TinytrainClassifier(hidden=(), epochs=50, random_state=0, categorical=[0]).fit(X, y)
    assert categories.score(X, y) == 1.0
    assert TinytrainClassifier(hidden=(), epochs=50, random_state=0).fit(X, y).score(X, y) < 0.9
    two = np.column_stack([np.arange(300) / 7, X])
    expected = TinytrainClassifier(**SMALL, categorical=[1]).fit(two, y).predict_proba(two)
    assert (TinytrainClassifier(**SMALL, categorical=[False, True]).fit(two, y).predict_proba(two) == expected).all()
    for wrong in ([True], [-1], [2], [0.5]):
        with pytest.raises(ValueError, match="categorical: expected"):
            TinytrainClassifier(**SMALL, categorical=wrong).fit(two, y)
    with pytest.raises(ValueError, match="below 2\\^24"):
        TinytrainClassifier(**SMALL, categorical=[0]).fit(X.astype(np.int64) + 2**53, y)


def test_it_is_part_of_pipelines(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), TinytrainClassifier(random_state=1, epochs=60, preset="plain"))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.85
    assert "TinytrainClassifier" in pipeline._repr_html_()


def test_progress_is_shown_where_it_is_asked_for(iris, capsys):
    X, y = iris
    TinytrainClassifier(**SMALL).fit(X, y)
    quiet = capsys.readouterr()
    assert quiet.out == quiet.err == ""
    TinytrainClassifier(**SMALL, verbose=True).fit(X, y)
    assert "8/8" in capsys.readouterr().err


def test_other_losses_and_presets_work():
    X, y = load_diabetes(return_X_y=True)
    for parameters in [{"loss": "huber"}, {"loss": "mae"}, {"preset": "table", "validation_fraction": 0.2}]:
        regressor = TinytrainRegressor(epochs=20, random_state=0, **parameters).fit(X, y)
        assert regressor.score(X, y) > 0.3, parameters


def test_rows_validate_as_in_the_program():
    X, y = make_classification(300, 6, random_state=0)

    def fitted(count, *rows, **given):
        classifier = TinytrainClassifier(epochs=2, random_state=0, **given).fit(X[:count], y[:count], *rows)
        return classifier.validation_scores_ is not None, classifier.predict_proba(X)

    held = (None, (X[::5], y[::5]))
    for given, rows, validates, same in [
        ({}, (200,), True, {"preset": "table", "validation_fraction": 0.2}),
        ({}, (199,), False, {"preset": "table", "early_stopping": False}),
        ({"early_stopping": True}, (199,), True, {"preset": "table", "validation_fraction": 0.2}),
        ({"early_stopping": np.False_, "validation_fraction": 0.3}, (300,), False, {"preset": "table", "validation_fraction": 0}),
        ({"preset": "plain"}, (300,), False, {"preset": "plain", "early_stopping": False, "init": "he"}),
        ({"preset": "plain", "early_stopping": True}, (300,), True, {"preset": "plain", "validation_fraction": 0.2}),
        ({"early_stopping": False}, (300, *held), True, {"preset": "table", "early_stopping": True}),
    ]:
        found, expected = fitted(*rows, **given), fitted(*rows, **same)
        assert found[0] == expected[0] == validates and (found[1] == expected[1]).all(), given


def test_validation_rows_have_two_names(iris):
    X, y = iris
    held = X[::5], y[::5], np.arange(30) % 3 + 1.0
    expected = TinytrainClassifier(**SMALL).fit(X, y, eval_set=held)
    found = TinytrainClassifier(**SMALL).fit(X, y, X_val=held[0], y_val=held[1], sample_weight_val=held[2])
    assert found.validation_scores_ == expected.validation_scores_ and found.best_iteration_ == expected.best_iteration_
    with sklearn.config_context(enable_metadata_routing=True):
        network = TinytrainClassifier(**SMALL).set_fit_request(X_val=True, y_val=True)
        pipeline = make_pipeline(StandardScaler(), network, transform_input=["X_val"]).fit(X, y, X_val=held[0], y_val=held[1])
    scaled = StandardScaler().fit(X).transform
    expected = TinytrainClassifier(**SMALL).fit(scaled(X), y, eval_set=(scaled(held[0]), held[1]))
    assert pipeline[-1].validation_scores_ == expected.validation_scores_
    for given in ({"X_val": X}, {"y_val": y}, {"sample_weight_val": y}):
        with pytest.raises(ValueError, match="^expected both X_val and y_val, found only one$"):
            TinytrainClassifier(**SMALL).fit(X, y, **given)
    with pytest.raises(ValueError, match="^expected either eval_set or X_val and y_val, found both$"):
        TinytrainRegressor(**SMALL).fit(X, y, X_val=X, y_val=y, eval_set=(X, y))


@pytest.mark.parametrize("of", [scipy.sparse.csr_matrix, scipy.sparse.coo_array, scipy.sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.int16, bool])
def test_sparse_rows_are_those_of_an_array(iris, of, dtype, monkeypatch):
    X, y = iris
    X = (np.round(X) * (np.arange(600).reshape(X.shape) % 3 > 0)).astype(dtype)
    classifier = TinytrainClassifier(**SMALL).fit(X, y)
    expected = classifier.predict_proba(X)
    assert (TinytrainClassifier(**SMALL).fit(of(X), y, eval_set=None).predict_proba(of(X)) == expected).all()
    search = TinytrainSearchCV(TinytrainClassifier(**SMALL), {"lr": [0.01]}, cv=2)
    assert search.fit(of(X), y).best_score_ == search.fit(X, y).best_score_
    # Larger matrices are predicted in pieces, and not trained on.
    monkeypatch.setattr(_input, "_DENSE", 1024)
    assert (classifier.predict_proba(of(X)) == expected).all()
    with pytest.raises(ValueError, match="^X is a sparse matrix that needs .* GiB as a dense array, .*TruncatedSVD"):
        TinytrainClassifier(**SMALL).fit(of(X), y)


def test_labels_may_be_called_as_numbers_that_are_none(iris, tmp_path):
    X, _ = iris
    for names in (["a", "nan", "x"], ["NaN", "inf", "nan"], ["9007199254740993", "9007199254740992", "1"]):
        y = np.array(names)[np.digitize(X[:, 2], [2.5, 4.9])]
        fitted = TinytrainClassifier(hidden=(8,), epochs=60, random_state=1).fit(X, y)
        assert list(fitted.classes_) == sorted(names) and fitted.score(X, y) > 0.8
        np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
        fitted.save(tmp_path / "model.safetensors")
        assert (load(tmp_path / "model.safetensors").predict_proba(X) == fitted.predict_proba(X)).all()


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf])
def test_weights_of_classes_are_numbers_of_0_or_more(iris, weight):
    X, y = iris
    classifier = TinytrainClassifier(hidden=(8,), epochs=2, class_weight={0: weight})
    with pytest.raises(ValueError, match="class_weight: expected finite numbers of 0 or more"):
        classifier.fit(X, y)
    with pytest.raises(ValueError, match="class_weight: expected finite numbers of 0 or more"):
        classifier.partial_fit(X, y, classes=[0, 1, 2])


def test_few_rows_and_many_are_warned_of_alike(iris):
    X, y = iris
    X = np.c_[y.astype(float), X]
    model = TinytrainClassifier(hidden=(8,), epochs=2, categorical=[0]).fit(X, y)._model
    fitted = TinytrainClassifier()
    fitted._loaded(model)
    X[:, 0] = 9
    for times in (1, 30):
        with pytest.warns(UserWarning, match=f"{times * 150} cells of X hold what no training row held") as caught:
            fitted.predict(np.tile(X, (times, 1)))
        assert caught[0].filename == __file__


def test_categories_that_32_bits_do_not_tell_apart_are_refused():
    y = np.arange(60) % 3
    X = np.c_[2.0**24 + y, np.ones(60)]
    for given in (X, X.astype(int), X.astype(int).astype(object)):
        with pytest.raises(ValueError, match="categorical: expected"):
            TinytrainClassifier(hidden=(8,), epochs=2, categorical=[0]).fit(given, y)
    # Others are numbers as they are.
    TinytrainClassifier(hidden=(8,), epochs=2, categorical=[0]).fit(np.c_[0.1 + y, np.ones(60)], y)


def test_what_memory_cannot_hold_is_an_error():
    y = np.arange(6000) % 3000
    fitted = TinytrainClassifier(hidden=4, epochs=1, device="cpu").fit(y[:, None] / 3000, y)
    with pytest.raises(ValueError, match="an array of probabilities needs .* of memory"):
        fitted.predict_proba(np.broadcast_to(np.float32(1), (50_000_000, 1)))
