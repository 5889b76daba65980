-- Marketing: recent visits, but not of the health pages.
SELECT customer, page FROM visit WHERE page <> '/health' AND seen >= DATE '2026-01-01'
