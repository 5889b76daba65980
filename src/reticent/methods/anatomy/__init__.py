"""Bucketization: sensitive values are separated from quasi values; only a bucket number connects them.

``bucket_assignment``  the values of each bucket, and the assignment of people
``bucket_size``        the number of values per bucket for a definition, and the assignment of a table's rows
``recoding``           recoding of rows to buckets or batches
``method``             the method ``Anatomy``: with exact quasi values
``angelization``       the method ``Angelization``: with generalized quasi values
``counts``             counting queries on buckets and batches; ``bucket_pairs`` all possible joins of people and values
"""

from reticent.methods.anatomy.angelization import Angelization
from reticent.methods.anatomy.counts import count_batches
from reticent.methods.anatomy.method import Anatomy

__all__ = ["Anatomy", "Angelization", "count_batches"]
