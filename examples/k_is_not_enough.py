"""Why k-anonymity alone is not enough: twelve patients, four to a group, and still everybody knows (spec 000b, G2 and G3).

Run it:  python examples/k_is_not_enough.py
"""

from __future__ import annotations

import polars as pl

import reticent as rt
from reticent.attacks import Homogeneity, Linkage, attack
from reticent.demo import twelve_patients

patients = twelve_patients()
bruce = pl.DataFrame({"who": ["Bruce"], "zip": ["13053"], "age": [31], "nationality": ["American"]})


def described(hierarchy: rt.Hierarchy) -> rt.Table:
    """The patients with one hierarchy for their ages; codes lose two digits, nationality goes."""
    return rt.Table(
        patients,
        quasi={
            "zip": rt.Hierarchy.masking(digits=5, keep=[5, 3]),
            "age": hierarchy,
            "nationality": rt.Hierarchy.suppression(),
        },
        sensitive="condition",
    )


def tell(title: str, table: rt.Table, definition: rt.Definition) -> None:
    """Publish, then attack."""
    release = rt.publish(table, definition, method=rt.Lattice())
    looked_up, shared = attack(release, Linkage(bruce, who="who"), Homogeneity())
    print(f"{title}: {definition}")
    print(f"  {looked_up.example}")
    print(f"  {shared.summary()}\n")


decades = rt.Hierarchy.cuts([[30, 40]])
tell("Groups of four", described(decades), rt.KAnonymity(4))
tell("And no value too frequent in them", described(decades), rt.KAnonymity(4) & rt.RecursiveLDiversity(3, 3))
