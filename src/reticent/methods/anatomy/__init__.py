"""Bucketization: sensitive values are parted from people, whom only a group connects with them again.

``bucket_assignment``  which values meet in a group, and who goes there
``bucket_size``        how many values must meet for a definition, and the rows of a table dealt out
``recoding``           rows dealt out to buckets or batches
``method``             the method ``Anatomy``: exact quasi values beside
``angelization``       the method ``Angelization``: generalized quasi values beside
``counts``             counting queries on buckets and batches; ``bucket_pairs`` people and values joined in all possible ways
"""

from reticent.methods.anatomy.angelization import Angelization
from reticent.methods.anatomy.counts import count_batches
from reticent.methods.anatomy.method import Anatomy

__all__ = ["Anatomy", "Angelization", "count_batches"]
