-- Management: an aggregate over everything. Outside the exact fragment, and it reads cancer rows: UNKNOWN, so denied.
SELECT ward, COUNT(*) AS stays FROM diagnosis GROUP BY ward
