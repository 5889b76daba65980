-- Housekeeping: beds, no patients.
SELECT name, beds FROM ward WHERE beds > 0
