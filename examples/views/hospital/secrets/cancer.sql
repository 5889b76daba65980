SELECT DISTINCT p.name FROM patient p JOIN diagnosis d ON d.pid = p.pid WHERE d.code = 'cancer'
