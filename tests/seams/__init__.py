"""Extensions that live in the tests alone, one module each: a definition, a mechanism, a history, overlapping groups, an engine."""
