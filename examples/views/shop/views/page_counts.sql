-- Web team: visits a page, health left out.
SELECT page, COUNT(*) AS visits FROM visit WHERE page IN ('/toys', '/books') GROUP BY page
