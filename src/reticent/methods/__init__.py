"""Kinds of release, a package each: how it is drafted, laid out, counted in and drawn.

In every package ``method`` holds the methods (they return drafts and import no release), ``format`` the layout of the release, ``figure`` its drawing in the report.

``grouping``    what grouping methods share, and the format ``generalize``; ``typical`` typical values instead of labels
``lattice``     full-domain generalization with exact search; ``mondrian`` local recoding by repeated cuts
``suppress``    local suppression; ``clusters`` centres and radii; ``bang`` classes of a spatial index
``anatomy``     buckets of sensitive values beside exact or generalized quasi values
``randomize``   noisy views and perturbed records; ``synthesize`` synthetic rows
``counts``      noisy counts, by a curator or by parties together; ``grid`` cells of a public grid
``series``      a table that changes, published again and again
"""
