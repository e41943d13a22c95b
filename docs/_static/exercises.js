// Editors for the exercises: what is written stays in this browser; checks run in a Python of their own.
"use strict";

(() => {
  const [total, versions] = [".total", ".versions"].map(selector => document.querySelector(selector));
  // One Python for all exercises, what stops the check that runs, and the place that shows what it does.
  let python = null, running = null, tell = () => {};

  // A Python with more packages takes the place of the one before when it is loaded, not earlier.
  function pythonWith(packages) {
    if (python && packages.length <= python.packages.length) return python;
    const made = new Python(packages, said => tell(said), said => {
      if (python !== made) python?.stop();
      python = made;
      versions.textContent = `${said}.`;
      tell("Checking");
    });
    return made;
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

  // Points of the last checks, which are kept beside the texts.
  function pointsOf(name) { return JSON.parse(kept.get(`${name}-points`) ?? "null"); }

  function sumUp(names) {
    const found = names.map(pointsOf).filter(Boolean), sum = found.reduce((before, one) => before + one.points, 0);
    total.textContent = found.length ? `Checked so far: ${sum} points in ${found.length} of ${names.length} exercises.` : "";
  }

  // Tab indents the lines that are marked, Shift+Tab takes back; Enter goes on where the line before began, deeper
  // after a colon.
  function indent(event) {
    const editor = event.target;
    if (!["Tab", "Enter"].includes(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
    const {value, selectionStart: from, selectionEnd: to} = editor, line = value.lastIndexOf("\n", from - 1) + 1;
    if (event.key === "Enter" && event.shiftKey) return;
    event.preventDefault();
    if (event.key === "Enter") {
      const before = value.slice(line, from), deeper = /:\s*(#.*)?$/.test(before) ? "    " : "";
      return insert(editor, from, to, `\n${before.match(/^ */)[0]}${deeper}`);
    }
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

  // What stands between backticks is code.
  function marked(said) {
    return said.split("`").map((part, at) => at % 2 ? element("code", {textContent: part}) : part);
  }

  function fill(place, name, {text, packages, elsewhere}, known) {
    const names = Object.keys(known), most = Object.values(known).map(one => one.packages).sort((a, b) => b.length - a.length)[0];
    const editor = element("textarea", {
      spellcheck: false, autocapitalize: "off", wrap: "off", value: kept.get(name) ?? text,
      ariaLabel: `Answers to exercise ${name}`,
    });
    const check = element("button", {type: "button", textContent: "Check", title: "Ctrl+Enter"});
    const cancel = element("button", {type: "button", textContent: "Cancel", hidden: true});
    const again = element("button", {type: "button", textContent: "Begin anew"});
    const status = element("span", {role: "status"}), clock = element("span");
    const found = element("div", {className: "found"});
    place.append(editor, element("p", {}, check, " ", cancel, " ", again, " ", status, " ", clock), found);

    const fit = () => { editor.rows = Math.min(40, editor.value.split("\n").length + 1); };
    const say = said => { status.textContent = said; };

    function show({results, stopped, printed}, seconds) {
      const here = results.filter(one => one.status !== "not checked here");
      const sum = (rows, of) => rows.reduce((before, one) => before + one[of], 0);
      const points = sum(here, "points"), possible = sum(here, "possible"), more = sum(results, "possible") - possible;
      place.dataset.points = points;
      found.replaceChildren(...results.map(({task, points, possible, status: state, said, hints}) => {
        const row = element("div", {}, element("strong", {}, element("code", {textContent: task})),
          here.some(one => one.task === task) ? ` ${points} of ${possible} points, ${state}` : ` ${possible} points, ${state}`);
        row.dataset.state = state;
        if (said) row.append(element("pre", {textContent: said}));
        for (const [at, hint] of hints.entries())
          row.append(element("details", {}, element("summary", {textContent: `Hint ${at + 1}`}), ...marked(hint)));
        return row;
      }));
      if (stopped) found.append(element("pre", {textContent: `Nothing was checked: ${stopped}`}));
      if (printed) found.append("Printed:", element("pre", {textContent: printed}));
      const took = `${stopped ? "Run" : "Checked"} in ${seconds.toFixed(1)} s.`;
      if (stopped) return say(`Nothing was checked. ${took}`);
      const said = `${points} of ${possible} points${more ? `; ${more} more with the file` : ""}.`;
      say(`${said} ${took}`);
      kept.set(`${name}-points`, JSON.stringify({points, said}));
      sumUp(names);
    }

    async function run() {
      if (check.ariaDisabled === "true") return;
      running?.stop(new Error("Stopped: another exercise was to be checked"));
      const needsMore = /^\s*(import|from)\s+(scipy|sklearn|convexmetric)\b/m.test(editor.value);
      const own = pythonWith(needsMore ? most : packages), mine = running = {stop: error => own.stop(error)};
      tell = say;
      const stopped = Python.ticking(clock);
      // A button that is disabled would lose the focus.
      check.ariaDisabled = "true";
      cancel.hidden = false;
      delete place.dataset.points;
      say(own.worker ? "Checking" : "Loading Python");
      try {
        const {answer, seconds} = await own.ask("exercising.check", {exercise: name, text: editor.value, elsewhere});
        found.classList.remove("old");
        show(answer, seconds);
      } catch (error) {
        found.replaceChildren();
        say(error.message);
      }
      if (running === mine) running = null;
      stopped();
      check.ariaDisabled = null;
      if (document.activeElement === cancel) check.focus();
      cancel.hidden = true;
    }

    check.addEventListener("click", run);
    cancel.addEventListener("click", () => running?.stop());
    again.addEventListener("click", () => {
      if (editor.value !== text && !confirm("Throw away what is written here?")) return;
      kept.forget(name);
      kept.forget(`${name}-points`);
      sumUp(names);
      editor.value = text;
      found.replaceChildren();
      say("");
      fit();
    });
    editor.addEventListener("keydown", event => {
      if (event.key === "Escape") check.focus();
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
      else indent(event);
    });
    editor.addEventListener("input", () => {
      kept.set(name, editor.value);
      found.classList.add("old");
      fit();
    });
    fit();
    if (pointsOf(name)) say(`Last check: ${pointsOf(name).said}`);
  }

  async function begin() {
    const answer = await fetch(new URL("exercises.json", PYTHON_WORKER));
    if (!answer.ok) throw new Error(`this site has no such file (${answer.status})`);
    const known = await answer.json();
    for (const place of document.querySelectorAll("div.exercise")) fill(place, place.dataset.name, known[place.dataset.name], known);
    sumUp(Object.keys(known));
  }

  if (Python.nowhere) versions.textContent = Python.nowhere;
  else
    begin().catch(error => {
      versions.textContent = `No editors, as exercises.json could not be loaded: ${error.message}. Reload this page to try again.`;
    });
})();
