// Formulas that are wider than the page scroll: those, and no others, can be reached by Tab, to scroll them by keys.
"use strict";

(() => {
  function mark() {
    for (const formula of document.querySelectorAll("div.math")) {
      if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
      else formula.removeAttribute("tabindex");
    }
  }
  addEventListener("load", mark);
  addEventListener("resize", mark);
})();
