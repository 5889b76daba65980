// The theme that was chosen, before anything is drawn. Nothing but that word is kept in the browser.
(function () {
  "use strict";
  var chosen = localStorage.getItem("reticent-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
