// The page on which certificates are proven; prover-worker.js does the work, python.js has the clock.
"use strict";

(() => {
  const source = document.currentScript.src, form = document.getElementById("prover");
  const [input, cancel, status, clock, verdict, versions] =
    ["input", "button", "[role=status]", ".clock", "pre", ".versions"].map(selector => form.querySelector(selector));
  const HEADINGS = {
    0: "Accepted: the bounds that are claimed are proven.",
    1: "Not proven: the bounds that are claimed are not.",
    2: "Refused: nothing is proven.",
    "-1": "Python could not be loaded: nothing is proven.",
  };
  let worker = null, stopClock = () => {};

  function stop(said) {
    worker?.terminate();
    worker = null;
    stopClock();
    cancel.hidden = true;
    status.textContent = said;
  }

  function show({code, text, loading, versions: of}) {
    stop(HEADINGS[code]);
    form.dataset.code = code;
    verdict.textContent = text;
    verdict.hidden = false;
    versions.textContent = of ? `${of}; loaded in ${loading.toFixed(1)} s.` : "";
  }

  function prove(files) {
    stop("");
    delete form.dataset.code;
    verdict.hidden = true;
    versions.textContent = "";
    if (!files.length) return;
    if (new Set(files.map(file => file.name)).size < files.length)
      return show({code: 2, text: "refused: two of the files have the same name"});
    cancel.hidden = false;
    worker = new Worker(new URL("prover-worker.js", source), {type: "module"});
    worker.onmessage = ({data}) => {
      if (!data.stage) return show(data);
      status.textContent = data.stage;
      stopClock();
      stopClock = Python.ticking(clock);
    };
    worker.onerror = event => show({code: -1, text: event.message || "a script of this page could not be read"});
    worker.postMessage(files);
  }

  input.addEventListener("change", () => prove([...input.files]));
  // The same file can be chosen again.
  input.addEventListener("click", () => { input.value = ""; });
  cancel.addEventListener("click", () => stop("Cancelled: nothing is proven."));
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("dragover", event => event.preventDefault());
  form.addEventListener("drop", event => {
    event.preventDefault();
    input.files = event.dataTransfer.files;
    prove([...input.files]);
  });
  status.textContent = Python.nowhere;
})();
