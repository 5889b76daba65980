"""The recipient's verifier: the claims of a release recomputed by an independent JavaScript program, in a browser or
under node.

``core/``      the verifying core: plain JavaScript without dependencies, written from docs/reference/release-format.md and citing it by section
``parquet.js`` Parquet files through vendored readers; ``node.js`` the core under node, for tests and servers
``page/``      the parts of the page; ``builder`` bundles everything into one HTML file that works from disk
"""

from reticent.verifier.builder import bundled, verifier_page, write_page

__all__ = ["bundled", "verifier_page", "write_page"]
