"""What every package stands on and no package owns; import its modules directly.

``exact``        parameters as exact fractions; ``randomness`` of the operating system
``context``      what a run carries: randomness, progress, cancellation, a deadline, a scratch folder, counts
``disclosures``  what was given out before, and what a draft asks of the ledger
``files``        files that appear whole or not at all; ``documents`` small files read within bounds; ``frames`` frames of any kind as polars frames
``encoding``     values as small integers; ``packing`` several of them as one key; ``ragged`` runs of rows in flat arrays
``memory``       how much there is; ``compiled`` loops that numba translates at their first call; ``extras`` optional packages
``cards``        results as a line or a notebook card; ``charts`` line charts and ``figures`` bars as SVG
``parameters``   definitions and methods made from plain data
"""
