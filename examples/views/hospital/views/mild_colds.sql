-- Statistics: an aggregate whose footprint stays clear of both secrets.
SELECT ward, COUNT(*) AS colds FROM diagnosis WHERE code = 'cold' AND level = 'mild' GROUP BY ward
