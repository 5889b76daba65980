"""Synthetic records of Adult (nine columns) from noisy marginals: total variation of marginals, and how well a model learned from them predicts income.

Run: python -m benchmarks marginals [epsilon [aim | mst]]. The domain is read off the file, which a release must not do; the figures are about the noise.
"""

from __future__ import annotations

import time

import polars as pl

import reticent as rt
from benchmarks.adult import SHARED

DELTA, TESTED = "1e-6", 6_000


def adult() -> pl.DataFrame:
    """The 30,162 records, in random order."""
    return pl.read_csv(SHARED / "adult" / "adult.csv.gz", separator=";").sample(fraction=1.0, shuffle=True, seed=1)


def area_under_curve(learned: pl.DataFrame, tested: pl.DataFrame, outcome: str = "salary-class") -> float:
    """The area under the ROC curve of a gradient boosted model that was learned from one table, on records of another."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    names = [name for name in learned.columns if name != outcome]
    values = {
        name: {value: code for code, value in enumerate(pl.concat([learned[name], tested[name]]).unique().sort())}
        for name in learned.columns
    }
    coded = [
        each.select(pl.col(name).replace_strict(values[name], return_dtype=pl.Int64) for name in each.columns)
        for each in (learned, tested)
    ]
    model = HistGradientBoostingClassifier(random_state=0).fit(coded[0].select(names).to_numpy(), coded[0][outcome])
    return float(roc_auc_score(coded[1][outcome], model.predict_proba(coded[1].select(names).to_numpy())[:, 1]))


def main(epsilon: str = "1", *chosen: str) -> None:
    """One release for each way of choosing marginals; the seconds are those of the processor."""
    frame = adult()
    tested, learned = frame.head(TESTED), frame.slice(TESTED)
    print(f"real records: AUC {area_under_curve(learned, tested):.3f}")
    domain = {name: frame[name].unique().sort().to_list() for name in frame.columns}
    for select in chosen or ("mst", "aim"):
        table = rt.Table(frame, quasi=frame.columns[:-1], sensitive=frame.columns[-1])
        held_out = rt.Table(learned, quasi=frame.columns[:-1], sensitive=frame.columns[-1])
        method = rt.Marginals(select=select, domain=domain)
        began = time.process_time()
        release = rt.publish(table, rt.UnboundedDP(epsilon, DELTA), method)
        took = time.process_time() - began
        predicted = rt.publish(held_out, rt.UnboundedDP(epsilon, DELTA), method, again=True)
        print(
            f"{select}, epsilon {epsilon}, delta {DELTA}: one-way {release.utility['one_way_error']:.4f}, two-way {release.utility['two_way_error']:.4f}, "
            f"AUC {area_under_curve(predicted.frame, tested):.3f}, {took:.0f} s of processor",
            flush=True,
        )
