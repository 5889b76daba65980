-- Accounting: old open purchases. Any purchase row may belong to somebody's health item.
SELECT id, placed FROM purchase WHERE status = 'open' AND placed < DATE '2025-01-01'
