"""Publishing methods, one package per kind of release: drafting, layout, counting queries and figures.

In every package ``method`` has the methods (they return drafts and do not import release), ``format`` the layout of the
release, ``figure`` its figure in the report.

``grouping``    shared by grouping methods, and the format ``generalize``; ``typical`` typical values instead of labels
``lattice``     full-domain generalization with exact search; ``mondrian`` local recoding by recursive splits
``suppress``    local suppression; ``clusters`` centres and radii; ``bang`` equivalence classes from a spatial index
``anatomy``     buckets of sensitive values, with exact or generalized quasi values
``randomize``   randomized views and perturbed records; ``synthesize`` synthetic rows
``counts``      noisy counts, by a curator or by several parties jointly; ``grid`` cells of a public grid
``series``      successive releases of a changing table
"""
