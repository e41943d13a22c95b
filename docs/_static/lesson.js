// A lesson whose numbers can be changed: a form with data-call, the function of Python that draws, and a field for each
// of its arguments. Sliders with data-powers hold powers of ten.
"use strict";

for (const form of document.querySelectorAll("form.lesson")) {
  const [start, status, picture, text, versions] =
    ["button", "[role=status]", "img", "pre", ".versions"].map(selector => form.querySelector(selector));
  const fields = [...form.querySelectorAll("input, select")];
  const python = new Python(["numpy", "scipy", "scikit-learn", "matplotlib"],
    said => { status.textContent = said; },
    said => {
      versions.textContent = `${said}.`;
      status.textContent = "Computing";
    });
  let changed = false, drawing = false;

  function value(field) {
    if (field.type !== "range") return field.value;
    return "powers" in field.dataset ? Number((10 ** field.value).toPrecision(3)) : Number(field.value);
  }

  function show() {
    for (const field of fields) {
      const shown = field.parentElement.querySelector("output");
      if (shown) shown.textContent = value(field);
    }
  }

  // While one picture is drawn, changes are collected; the last of them is drawn next.
  async function draw() {
    if (drawing) return;
    drawing = true;
    form.dataset.busy = "";
    while (changed) {
      changed = false;
      try {
        const {answer, seconds} = await python.ask(form.dataset.call,
          Object.fromEntries(fields.map(field => [field.name, value(field)])));
        picture.src = answer.picture;
        picture.hidden = text.hidden = false;
        picture.alt = text.textContent = answer.text;
        status.textContent = `Computed in ${seconds.toFixed(1)} s.`;
        const last = form.querySelector("[data-last]");
        if (last && answer.last) last.max = answer.last;
        show();
      } catch (error) {
        status.textContent = `No picture: ${error.message}`;
      }
    }
    drawing = false;
    delete form.dataset.busy;
  }

  start.addEventListener("click", () => {
    start.hidden = true;
    for (const field of fields) field.disabled = false;
    changed = true;
    draw();
  });
  form.addEventListener("input", () => {
    show();
    if (!start.hidden) return;
    changed = true;
    draw();
  });
  form.addEventListener("submit", event => event.preventDefault());
  show();
  status.textContent = Python.nowhere;
}
