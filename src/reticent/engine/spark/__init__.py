"""The Spark engine: rows on a cluster, counted and recoded in place. Needs the extra ``spark`` and Java 17.

``session``        the Spark session: the caller's, or one of our own
``spark_jobs``     jobs with progress and cancellation; Spark errors as one sentence
``spark_sources``  what Spark reads: files, folders, tables of a catalogue, queries, JDBC
``spark_rows``     a Spark frame as rows
``maps``           tables that are joined with the rows: values to codes, points to published cells
``spark_counts``   aggregates for the driver: sketches, distinct rows, floors
``output_files``   public files, written by the executors
``spark_engine``   the engine protocol on top of these
"""

import warnings

from reticent.base.extras import needed

# PySpark warns about the version of pandas, which is not used here.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
needed("pyspark", "spark", "Reading a table by Spark")

from reticent.engine.spark.spark_engine import SparkEngine  # noqa: E402  (the message about a missing package comes first)

__all__ = ["SparkEngine"]
