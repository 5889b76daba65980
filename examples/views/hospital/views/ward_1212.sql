-- Reception: who lies on ward 1212. A cancer patient may lie there.
SELECT p.name FROM patient p JOIN diagnosis d ON d.pid = p.pid WHERE d.ward = 1212
