"""Estimators and metrics with array_api_dispatch=True, which compute with tensors: scalers, decompositions, linear and other models,
kernels, scores, splits."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # which SciPy reads when it is imported, and scikit-learn asks for

import numpy as np
import pytest
import sklearn
from sklearn import metrics, preprocessing
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.metrics import pairwise
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB

import libtensor as torch


class Data:
    """Points, with a class of two, one of three, a number, and a probability for each."""

    def __init__(self, made):
        rng = np.random.default_rng(0)
        points = rng.normal(size=(60, 5))
        self.X = made(points)
        self.two, self.three = made((points @ rng.normal(size=5) > 0).astype("int64")), made(rng.integers(0, 3, 60))
        numbers = points @ rng.normal(size=5) + 0.1 * rng.normal(size=60)
        self.z, self.p = made(numbers), made(1 / (1 + np.exp(-numbers)))


ESTIMATORS = {
    "LinearDiscriminantAnalysis.transform": lambda d: LinearDiscriminantAnalysis(solver="svd").fit(d.X, d.three).transform(d.X),
    "LinearDiscriminantAnalysis.predict": lambda d: LinearDiscriminantAnalysis(solver="svd").fit(d.X, d.three).predict(d.X),
    "LinearDiscriminantAnalysis.predict_proba": lambda d: LinearDiscriminantAnalysis(solver="svd").fit(d.X, d.two).predict_proba(d.X),
    "Ridge": lambda d: Ridge(solver="svd").fit(d.X, d.z).predict(d.X),
    "RidgeCV": lambda d: RidgeCV().fit(d.X, d.z).predict(d.X),
    "RidgeClassifier": lambda d: RidgeClassifier(solver="svd").fit(d.X, d.three).predict(d.X),
    "LogisticRegression": lambda d: LogisticRegression(solver="lbfgs").fit(d.X, d.two).predict_proba(d.X),
    "PCA, full": lambda d: PCA(3, svd_solver="full").fit_transform(d.X),
    "PCA, covariance_eigh": lambda d: PCA(3, svd_solver="covariance_eigh").fit_transform(d.X),
    "PCA, randomized": lambda d: PCA(3, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0)
    .fit(d.X)
    .explained_variance_,
    "GaussianMixture": lambda d: GaussianMixture(2, init_params="random", random_state=0).fit(d.X).predict_proba(d.X),
    "GaussianNB": lambda d: GaussianNB().fit(d.X, d.three).predict_proba(d.X),
    "Nystroem": lambda d: Nystroem(n_components=4, random_state=0).fit_transform(d.X),
    "StandardScaler": lambda d: preprocessing.StandardScaler().fit_transform(d.X),
    "MinMaxScaler": lambda d: preprocessing.MinMaxScaler().fit_transform(d.X),
    "MaxAbsScaler": lambda d: preprocessing.MaxAbsScaler().fit_transform(d.X),
    "Normalizer": lambda d: preprocessing.Normalizer().fit_transform(d.X),
    "Binarizer": lambda d: preprocessing.Binarizer().fit_transform(d.X),
    "KernelCenterer": lambda d: preprocessing.KernelCenterer().fit_transform(d.X @ d.X.T),
    "LabelEncoder": lambda d: preprocessing.LabelEncoder().fit_transform(d.three),
    "LabelBinarizer": lambda d: preprocessing.LabelBinarizer().fit_transform(d.three),
    "PolynomialFeatures": lambda d: preprocessing.PolynomialFeatures(2).fit_transform(d.X),
    "cosine_similarity": lambda d: pairwise.cosine_similarity(d.X),
    "euclidean_distances": lambda d: pairwise.euclidean_distances(d.X),
    "rbf_kernel": lambda d: pairwise.rbf_kernel(d.X),
    "polynomial_kernel": lambda d: pairwise.polynomial_kernel(d.X),
    "train_test_split": lambda d: train_test_split(d.X, random_state=0)[0],
    "cross_val_predict": lambda d: cross_val_predict(Ridge(solver="svd"), d.X, d.z, cv=3),
}
METRICS = {
    "accuracy_score": lambda d: metrics.accuracy_score(d.two, d.two * 0 + 1),
    "f1_score": lambda d: metrics.f1_score(d.two, (d.X[:, 0] > 0) * 1),
    "mean_squared_error": lambda d: metrics.mean_squared_error(d.z, d.p),
    "mean_absolute_error": lambda d: metrics.mean_absolute_error(d.z, d.p),
    "mean_pinball_loss": lambda d: metrics.mean_pinball_loss(d.z, d.p),
    "max_error": lambda d: metrics.max_error(d.z, d.p),
    "r2_score": lambda d: metrics.r2_score(d.z, d.p),
    "d2_tweedie_score": lambda d: metrics.d2_tweedie_score(d.z, d.z * 1.1),
    "explained_variance_score": lambda d: metrics.explained_variance_score(d.z, d.p),
    "log_loss": lambda d: metrics.log_loss(d.two, d.p),
    "brier_score_loss": lambda d: metrics.brier_score_loss(d.two, d.p),
    "zero_one_loss": lambda d: metrics.zero_one_loss(d.two, d.three),
}


def tensors(call):
    """Returns the result of a call for tensors."""
    with sklearn.config_context(array_api_dispatch=True):
        return call(Data(torch.from_numpy))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_give_tensors_with_numpys_answers(name):
    expected, found = ESTIMATORS[name](Data(np.asarray)), tensors(ESTIMATORS[name])
    assert isinstance(found, torch.Tensor) and found.dtype.name == expected.dtype.name
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_give_numpys_numbers(name):
    assert tensors(METRICS[name]) == pytest.approx(METRICS[name](Data(np.asarray)), rel=1e-6)  # some are means in float32


def test_what_was_learnt_is_tensors():
    learnt = tensors(lambda d: Ridge(solver="svd").fit(d.X, d.z))
    assert isinstance(learnt.coef_, torch.Tensor) and learnt.coef_.shape == (5,)
