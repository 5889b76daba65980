"""From a table to a certified release that anybody can check, in Python.

Run it:  python examples/quickstart.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import reticent as rt
from reticent.demo import hospital

register = hospital(patients=2000)

table = rt.Table(
    register,
    quasi={
        "age": rt.Hierarchy.intervals(widths=[5, 10, 20, 40], origin=0, domain=(0, 99)),
        "sex": rt.Hierarchy.suppression(),
        "postcode": rt.Hierarchy.masking(digits=5, keep=[5, 4, 3, 2]),
    },
    sensitive="diagnosis",
    identifiers=["patient", "name"],
)
private = rt.KAnonymity(5) & rt.EntropyLDiversity(3)

print("As it stands:", rt.assess(table, private).witness.text)

release = rt.publish(table, private, method=rt.Lattice(objective="loss", suppression="0.02"))
print(f"Published {release.frame.height} rows in {len(release.groups)} groups:")
print(release.frame.head(3))

with tempfile.TemporaryDirectory() as folder:
    release.save(Path(folder) / "release")
    print("Anybody can check it:", rt.verify(Path(folder) / "release").holds)

counted = release.count("age >= 60 and diagnosis = 'stroke'")
print(f"Strokes from 60 on: about {counted.value:.0f}, for certain between {counted.bounds[0]} and {counted.bounds[1]}")
