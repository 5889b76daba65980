-- Stock: prices of toys. The key (purchase, line) lets only one category stand on a line: seeing a toy there excludes health.
SELECT purchase, line, price FROM item WHERE category = 'toys'
