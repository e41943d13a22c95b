// Python in a worker, for a page: it is started when first asked, and stopped by whoever has waited long enough.
"use strict";

const PYTHON_WORKER = new URL("python-worker.js", document.currentScript.src);

class Python {
  // `tell` shows a stage in words; `ready` shows the versions.
  constructor(packages, tell, ready) {
    Object.assign(this, {packages, tell, ready, worker: null, waiting: null});
  }

  start() {
    this.worker = new Worker(PYTHON_WORKER, {type: "module"});
    this.worker.onmessage = ({data}) => {
      if (data.stage) return this.tell(data.stage);
      if (data.ready) return this.ready(data.ready);
      // What did not load is thrown away, so that the next call begins anew.
      if (data.failed) return this.stop(new Error(data.failed));
      const {resolve, reject} = this.waiting;
      this.waiting = null;
      if (data.error) reject(new Error(data.error));
      else resolve(data);
    };
    this.worker.onerror = event =>
      this.stop(new Error(event.message || "This site does not answer: are you offline? (python-worker.js)"));
  }

  // One call at a time: whoever asks waits for the answer before.
  ask(call, given) {
    if (!this.worker) this.start();
    return new Promise((resolve, reject) => {
      this.waiting = {resolve, reject};
      this.worker.postMessage({packages: this.packages, call, given});
    });
  }

  stop(error = new Error("Cancelled")) {
    this.worker?.terminate();
    this.worker = null;
    this.waiting?.reject(error);
    this.waiting = null;
  }
}

// Where the site is opened as a file: what to say.
Python.nowhere = location.protocol === "file:"
  ? "Browsers run no Python from a file: serve the site, python -m http.server -d docs/_build/html" : "";

// Seconds since now, shown in an element until the function that this returns is called.
Python.ticking = clock => {
  const began = performance.now();
  const tick = () => { clock.textContent = `${Math.round((performance.now() - began) / 1000)} s`; };
  tick();
  const id = setInterval(tick, 1000);
  return () => {
    clearInterval(id);
    clock.textContent = "";
  };
};
