SELECT DISTINCT c.email FROM customer c JOIN purchase p ON p.customer = c.id JOIN item i ON i.purchase = p.id
WHERE i.category = 'health'
