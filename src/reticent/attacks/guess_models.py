"""Models that guess a sensitive value from quasi-identifiers, trained on the published data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.candidate_rows import LabelPlaces
from reticent.core import QueriedPeople
from reticent.errors import PolicyError, did_you_mean

ModelName = Literal["naive bayes", "forest"]
_MOST_ROWS = 30_000
_TREES, _LEAF = 100, 3


class Trained(Protocol):
    """A model after training."""

    def chances(self, asked: QueriedPeople) -> NDArray[np.float64]:
        """Return the probability of each value (column) for each distinct person (row)."""


@dataclass(frozen=True)
class NaiveBayes:
    """Naive Bayes: P(s) times the product of P(label | s) / P(label) over the labels that match the person."""

    places: LabelPlaces

    @classmethod
    def train(cls, queried: QueriedPeople, labels: LabelPlaces, seed: int) -> NaiveBayes:
        """Train: the counts are the whole model."""
        return cls(labels)

    def chances(self, queried: QueriedPeople) -> NDArray[np.float64]:
        """Return the probability of each sensitive value (column) for each distinct person (row).

        log P(s) plus log P(label | s) / P(label) over the quasi-identifiers. Where several labels match a person's value, their
        ratios add; a value that no label covers is no evidence.
        """
        from scipy.sparse import csr_array

        rows_by_value = np.bincount(self.places.values, weights=self.places.weights, minlength=self.places.domain)
        rows = max(float(rows_by_value.sum()), 1.0)
        log_chances = np.tile(np.log((rows_by_value + 1) / (rows + self.places.domain)), (len(queried), 1))
        for cover, value_of, codes in zip(queried.covers, queried.values, self.places.codes, strict=True):
            rows_by_label_and_value = np.bincount(
                codes[self.places.owners] * self.places.domain + self.places.values,
                weights=self.places.weights,
                minlength=cover.label_count * self.places.domain,
            ).reshape(cover.label_count, self.places.domain)
            label_share = rows_by_label_and_value.sum(axis=1) / rows
            # Smoothing by one row's worth of the marginal label distribution keeps unseen values possible.
            conditional = (rows_by_label_and_value + label_share[:, None]) / (rows_by_value + 1)[None, :]
            lift = np.divide(
                conditional, label_share[:, None], out=np.ones_like(conditional), where=label_share[:, None] > 0
            )
            label_matches = csr_array(
                (np.ones(len(cover.values)), (cover.values, cover.labels)), shape=(cover.value_count, cover.label_count)
            )
            likelihood = label_matches @ lift
            likelihood[np.bincount(cover.values, minlength=cover.value_count) == 0] = 1.0
            log_chances += np.log(likelihood)[value_of]
        log_chances -= log_chances.max(axis=1, keepdims=True)
        chances = np.exp(log_chances)
        normalized: NDArray[np.float64] = chances / chances.sum(axis=1, keepdims=True)
        return normalized


@dataclass(frozen=True)
class Forest:
    """A random forest over all columns (scikit-learn).

    It is trained on rows sampled from the release: label combination and value with their published frequencies, and in
    each column a listed person's value that the label covers, with its frequency in the list.
    """

    classifier: Any
    encoders: tuple[Encoder, ...]
    domain: int

    @classmethod
    def train(cls, queried: QueriedPeople, label_rows: LabelPlaces, seed: int) -> Forest:
        """Sample published rows, and train a random forest that predicts their sensitive value from quasi-identifier values.

        A published label stands for several values: each sampled row gets one of them at random.
        """
        try:
            ensemble = import_module("sklearn.ensemble")
        except ImportError:
            raise PolicyError(
                "Inference: the model 'forest' needs scikit-learn. Install it with: pip install 'reticent[models]'."
            ) from None
        random = np.random.default_rng(seed)
        size = min(int(label_rows.rows.sum()), _MOST_ROWS)
        sampled = random.choice(len(label_rows.weights), size, p=label_rows.weights / label_rows.weights.sum())
        encoders = tuple(Encoder.of(values) for values in queried.known)
        features = []
        for column, encoder in enumerate(encoders):
            codes = encoder.codes(queried.known[column])
            value_of_row = _drawn_values(queried, column, label_rows.codes[column][label_rows.owners[sampled]], random)
            features.append(np.where(value_of_row >= 0, codes[value_of_row], np.nan))
        classifier = ensemble.RandomForestClassifier(_TREES, min_samples_leaf=_LEAF, random_state=seed)
        return cls(classifier.fit(np.stack(features, axis=1), label_rows.values[sampled]), encoders, label_rows.domain)

    def chances(self, queried: QueriedPeople) -> NDArray[np.float64]:
        """Return the probability of each value for each distinct person."""
        features = [
            encoder.codes(known)[values]
            for encoder, known, values in zip(self.encoders, queried.known, queried.values, strict=True)
        ]
        chances = np.zeros((len(queried), self.domain))
        chances[:, self.classifier.classes_] = self.classifier.predict_proba(np.stack(features, axis=1))
        return chances


@dataclass(frozen=True)
class Encoder:
    """Encodes the values of a column as numbers for trees: numbers and dates as they are, others by alphabetical rank."""

    names: pl.Series | None

    @classmethod
    def of(cls, values: pl.Series) -> Encoder:
        """Build the encoder for a column of such values."""
        if values.dtype.is_numeric() or values.dtype.is_temporal():
            return cls(None)
        return cls(values.cast(pl.String).drop_nulls().unique().sort())

    def codes(self, values: pl.Series) -> NDArray[np.float64]:
        """Return the numbers; NaN for values that are unknown or did not occur in training."""
        if self.names is None:
            physical = values.to_physical() if values.dtype.is_temporal() else values
            return physical.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        ranks = pl.DataFrame({"value": self.names, "place": np.arange(len(self.names), dtype=np.float64)})
        texts = values.cast(pl.String).to_frame("value")
        codes = texts.join(ranks, on="value", how="left", maintain_order="left")["place"]
        return codes.fill_null(float("nan")).to_numpy()


def _drawn_values(
    queried: QueriedPeople, column: int, labels: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Return for each label of a column one of the values that it covers, sampled by the frequency of the values in the
    list of people; -1 if it covers none of them.
    """
    cover = queried.covers[column]
    weights = np.bincount(queried.values[column], weights=queried.times, minlength=cover.value_count)
    by_label = np.argsort(cover.labels, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(weights[cover.values[by_label]])])
    ends = np.searchsorted(cover.labels[by_label], np.arange(cover.label_count + 1))
    lower, upper = cumulative[ends[labels]], cumulative[ends[labels + 1]]
    # Inverse transform sampling within the segment of each label.
    picked_entry = np.searchsorted(cumulative, lower + random.random(len(labels)) * (upper - lower), "right") - 1
    picked: NDArray[np.int64] = cover.values[by_label][np.minimum(picked_entry, len(by_label) - 1)]
    return np.where(upper > lower, picked, -1)


MODELS: Mapping[str, Callable[[QueriedPeople, LabelPlaces, int], Trained]] = {
    "naive bayes": NaiveBayes.train,
    "forest": Forest.train,
}
"""The models by name."""


def checked_model(name: str) -> str:
    """Return the name of a model; refused if it is unknown."""
    if name not in MODELS:
        raise PolicyError(
            f"Inference: there is no model {name!r}.{did_you_mean(name, MODELS)} The models are: {', '.join(MODELS)}."
        )
    return name
