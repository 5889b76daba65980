"""The recipient's verifier: the claims of a release decided again by a small program in another language, in a browser or under node.

``core/``      the judging core: plain JavaScript without dependencies, written from docs/reference/release-format.md and citing it by section
``parquet.js`` Parquet files through vendored readers; ``node.js`` the core under node, for tests and servers
``page/``      what the page is made of; ``builder`` puts everything into one HTML file that works from disk
"""

from reticent.verifier.builder import bundled, verifier_page, write_page

__all__ = ["bundled", "verifier_page", "write_page"]
