"""What words of a column's name mean: the special categories of personal data, what others know anyway, what identifies.

One TOML file a category (health, money, ...), one table a kind ("a test result"), in it ``says``, the kind in words, and the words of each language. A word is
written without accents or with them, in small letters, parts of a phrase joined by ``_``, and is found as

``income``    a whole word of the name, also with a digit, or with what surveys put around words; from six letters on as the first or last part of a compound
``=aids``     a whole word and nothing else
``^stage``    the whole name
``infect~``   the beginning of a word; ``~itis`` the end; ``~virus~`` anywhere
``drug_~``    a word that others follow; ``~_ed`` a word that follows others

Flags of a kind: ``topic`` (a file with several of such columns is about it), ``numbers`` (only numbers are meant),
``few`` (only few values are meant), ``person`` (a role of a person: the victim's race is
a race), ``visible`` (can be seen of a person, or is asked everywhere). ``friends.toml`` lists words that only look like others.
"""

from reticent.propose.vocabulary.kinds import SENSITIVE, Kind
from reticent.propose.vocabulary.matcher import kinds_of, share_spoken, words_of

__all__ = ["SENSITIVE", "Kind", "kinds_of", "share_spoken", "words_of"]
