"""The formats of grouped releases; see :mod:`reticent.release.format`.

``generalize``  one table ``data``: rows with the same labels are a group
``cells``       as ``generalize``, every label a true value or a star, which is a symbol of its own
``bucketize``   ``quasi`` has exact values with a bucket, ``sensitive`` the sensitive values of each bucket: a bucket is a group
"""
