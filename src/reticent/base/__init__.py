"""Utilities that every package may use; import its modules directly.

``exact``        parameters as exact fractions; ``randomness`` of the operating system
``context``      the context of a run: randomness, progress, cancellation, a deadline, a scratch folder, counts
``disclosures``  prior disclosures, and what a draft requires of the ledger
``files``        atomic writes; ``documents`` small files read within limits; ``frames`` any frame as a polars frame
``encoding``     values as category codes; ``packing`` several of them as one key; ``ragged`` segments in flat arrays
``memory``       the memory budget; ``compiled`` loops that numba compiles at their first call; ``extras`` optional packages
``cards``        results as a line or a notebook card; ``charts`` line charts and ``figures`` bars as SVG
``parameters``   definitions and methods constructed from plain data
"""
