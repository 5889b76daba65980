SELECT d.pid FROM diagnosis d WHERE d.level = 'critical'
