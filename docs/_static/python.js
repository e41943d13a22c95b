// Python in a worker, for a page: it is started when first asked, and stopped by whoever has waited long enough.
"use strict";

const PYTHON_WORKER = new URL("python-worker.js", document.currentScript.src);

class Python {
  // `tell` shows a stage or an error in words; `ready` shows the versions.
  constructor(packages, tell, ready) {
    Object.assign(this, {packages, tell, ready, worker: null, waiting: null});
  }

  start() {
    this.worker = new Worker(PYTHON_WORKER, {type: "module"});
    this.worker.onmessage = ({data}) => {
      if (data.stage) return this.tell(data.stage);
      if (data.ready) return this.ready(data.ready);
      const {resolve, reject} = this.waiting ?? {};
      this.waiting = null;
      if (data.error && !resolve) this.tell(data.error);
      else if (data.error) reject(new Error(data.error));
      else resolve(data);
    };
    this.worker.onerror = event => {
      const error = new Error(event.message || "a script of this page could not be read");
      this.stop(error);
      this.tell(error.message);
    };
    this.worker.postMessage({packages: this.packages});
  }

  // One call at a time: whoever asks waits for the answer before.
  ask(call, given) {
    if (!this.worker) this.start();
    return new Promise((resolve, reject) => {
      this.waiting = {resolve, reject};
      this.worker.postMessage({call, given});
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
