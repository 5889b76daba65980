// Applies the chosen theme before the first paint. The theme name is the only value stored in the browser.
(function () {
  "use strict";
  var chosen = localStorage.getItem("reticent-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
