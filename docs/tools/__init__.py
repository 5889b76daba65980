"""What makes the documentation: generated reference pages and real console output.

``docstrings``  docstrings as Markdown
``api``         public names with signatures, parameters and examples
``catalogue``   definitions and methods: guarantee, adversary, not covered, source, tests, cost
``commands``    the command line
``policy``      the sections and keys of policy files
``generated``   the parts that pages name in a comment, ``<!-- generated: NAME -->``
``notebooks``   ``make notebooks``: tutorials as notebooks
``console``     ``make docs-output``: console blocks rewritten with what the commands print
"""
