-- What leaves: generalized columns, and nothing else.
select
  {{ reticent.interval("age", 20) }} as age,
  {{ reticent.masked("zip", 3, 5) }} as zip,
  disease
from {{ ref("patients") }}
