// A lesson whose numbers can be changed: a form with data-call, the function of Python that draws, and a field for each
// of its arguments. Sliders with data-powers hold powers of ten.
"use strict";

for (const form of document.querySelectorAll("form.lesson")) {
  const [start, cancel, status, clock, picture, text, versions] =
    ["button", "button + button", "[role=status]", ".clock", "img", "pre", ".versions"].map(selector => form.querySelector(selector));
  const fields = [...form.querySelectorAll("input, select")];
  const python = new Python(["numpy", "scipy", "threadpoolctl", "matplotlib"],
    said => { status.textContent = `${said}. The first picture takes longest.`; },
    said => {
      versions.textContent = `${said}.`;
      status.textContent = "Computing. The first picture takes longest.";
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
    cancel.hidden = false;
    const stopped = Python.ticking(clock);
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
        changed = false;
        status.textContent = `No picture: ${error.message}`;
        if (!python.worker) ready(false);
      }
    }
    stopped();
    if (document.activeElement === cancel) fields[0].focus();
    cancel.hidden = true;
    drawing = false;
    delete form.dataset.busy;
  }

  // Whether the fields can be changed; if not, there is the button that starts.
  function ready(so) {
    const inside = form.contains(document.activeElement);
    for (const field of fields) field.disabled = !so;
    start.hidden = so;
    if (inside) (so ? fields[0] : start).focus();
  }

  start.addEventListener("click", () => {
    ready(true);
    changed = true;
    draw();
  });
  cancel.addEventListener("click", () => python.stop());
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
