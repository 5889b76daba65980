SELECT customer FROM visit WHERE page = '/health'
