-- Pharmacy: what is given against flu. The key is (pid, code), so a cancer row and a flu row do not exclude each other.
SELECT d.pid, d.medication FROM diagnosis d WHERE d.code = 'flu' AND d.level = 'mild'
