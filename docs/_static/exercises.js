// Editors for the exercises: what is written stays in this browser; checks run in a Python of their own.
"use strict";

(() => {
  const versions = document.querySelector(".versions");
  // One Python for all exercises, and the place that shows what it does.
  let python = null, tell = () => {};

  function pythonWith(packages) {
    if (!python || packages.length > python.packages.length) {
      python?.stop();
      python = new Python(packages, said => tell(said), said => {
        versions.textContent = `${said}.`;
        tell("Checking");
      });
    }
    return python;
  }

  function element(tag, attributes = {}, ...inside) {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...inside);
    return made;
  }

  // What a browser keeps may be forbidden or full: then it is kept until the page is left.
  const kept = {
    get(name) { try { return localStorage.getItem(`exercise-${name}`); } catch { return null; } },
    set(name, text) { try { localStorage.setItem(`exercise-${name}`, text); } catch { /* as above */ } },
    forget(name) { try { localStorage.removeItem(`exercise-${name}`); } catch { /* as above */ } },
  };

  // Tab indents the lines that are marked, Shift+Tab takes back; Escape lets Tab leave the editor.
  function indent(event) {
    const editor = event.target;
    if (event.key === "Escape") return editor.blur();
    if (event.key !== "Tab" || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    const {value, selectionStart: from, selectionEnd: to} = editor, line = value.lastIndexOf("\n", from - 1) + 1;
    if (from === to && !event.shiftKey) return insert(editor, from, to, "    ");
    const lines = value.slice(line, to);
    const changed = event.shiftKey ? lines.replace(/^ {1,4}/gm, "") : lines.replace(/^(?=.)/gm, "    ");
    insert(editor, line, to, changed);
    if (from !== to) editor.setSelectionRange(line, line + changed.length);
  }

  // As if typed, so that it can be undone.
  function insert(editor, from, to, text) {
    editor.setSelectionRange(from, to);
    if (text === "" ? !document.execCommand("delete") : !document.execCommand("insertText", false, text))
      editor.setRangeText(text, from, to, "end");
  }

  function fill(place, name, {text, packages}) {
    const editor = element("textarea", {
      spellcheck: false, autocapitalize: "off", value: kept.get(name) ?? text, ariaLabel: `Answers to exercise ${name}`,
    });
    const check = element("button", {type: "button", textContent: "Check"});
    const cancel = element("button", {type: "button", textContent: "Cancel", hidden: true});
    const again = element("button", {type: "button", textContent: "Begin anew"});
    const status = element("span", {role: "status"}), clock = element("span");
    const found = element("div", {className: "found"});
    place.append(editor, element("p", {}, check, " ", cancel, " ", again, " ", status, " ", clock), found);

    const fit = () => { editor.rows = Math.min(40, editor.value.split("\n").length + 1); };
    const say = said => { status.textContent = said; };

    function show({results, printed}) {
      const sum = of => results.reduce((total, one) => total + one[of], 0);
      say(`${sum("points")} of ${sum("possible")} points`);
      place.dataset.points = sum("points");
      found.replaceChildren(...results.map(({task, points, possible, status: state, said, hints}) => {
        const row = element("div", {},
          element("strong", {}, element("code", {textContent: task})), ` ${points} of ${possible} points, ${state}`);
        row.dataset.state = state;
        if (said) row.append(element("pre", {textContent: said}));
        for (const [at, hint] of hints.entries())
          row.append(element("details", {}, element("summary", {textContent: `Hint ${at + 1}`}), hint));
        return row;
      }));
      if (printed) found.append("Printed:", element("pre", {textContent: printed}));
    }

    async function run() {
      if (python?.waiting) python.stop();
      const own = pythonWith(packages);
      tell = say;
      const began = performance.now();
      const tick = () => { clock.textContent = `${Math.round((performance.now() - began) / 1000)} s`; };
      const ticking = setInterval(tick, 1000);
      check.disabled = true;
      cancel.hidden = false;
      delete place.dataset.points;
      say(own.worker ? "Checking" : "Loading Python");
      try {
        show((await own.ask("exercising.check", {exercise: name, text: editor.value})).answer);
      } catch (error) {
        found.replaceChildren();
        say(error.message);
      }
      clearInterval(ticking);
      clock.textContent = "";
      check.disabled = false;
      cancel.hidden = true;
    }

    check.addEventListener("click", run);
    cancel.addEventListener("click", () => python.stop());
    again.addEventListener("click", () => {
      if (editor.value !== text && !confirm("Throw away what is written here?")) return;
      kept.forget(name);
      editor.value = text;
      found.replaceChildren();
      say("");
      fit();
    });
    editor.addEventListener("keydown", indent);
    editor.addEventListener("input", () => { kept.set(name, editor.value); fit(); });
    fit();
  }

  if (Python.nowhere) versions.textContent = Python.nowhere;
  else
    fetch(new URL("exercises.json", PYTHON_WORKER)).then(answer => answer.json()).then(known => {
      for (const place of document.querySelectorAll("div.exercise")) fill(place, place.dataset.name, known[place.dataset.name]);
    });
})();
