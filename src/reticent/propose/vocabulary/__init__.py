"""The meanings of words in column names: special categories of personal data, commonly known attributes, identifiers.

One TOML file per category (health, money, ...), one table per kind ("a test result") with ``says``, the kind in words,
and the words of each language. Words are in lower case, with or without accents, parts of a phrase joined by ``_``, and
match as follows:

``income``    a whole word of the name, also with a digit or survey affixes; with six or more letters also the first or last part of a compound
``=aids``     a whole word and nothing else
``^stage``    the whole name
``infect~``   the beginning of a word; ``~itis`` the end; ``~virus~`` anywhere
``drug_~``    a word that others follow; ``~_ed`` a word that follows others

Flags of a kind: ``topic`` (several such columns make it the topic of a file), ``numbers`` (applies to numbers only),
``few`` (applies to few values only), ``person`` (a role of a person: the victim's race is a race), ``visible`` (visible
to others or commonly asked). ``friends.toml`` lists false friends.
"""

from reticent.propose.vocabulary.kinds import SENSITIVE, Kind
from reticent.propose.vocabulary.matcher import kinds_of, share_spoken, words_of

__all__ = ["SENSITIVE", "Kind", "kinds_of", "share_spoken", "words_of"]
