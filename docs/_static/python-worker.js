// A worker with a Python of its own. It is handed the packages to load, then calls, and answers each.
import {loadPyodide} from "./pyodide/pyodide.mjs";

const START = `
import sys
sys.path[:0] = ["/pages", "/pages/docs", "/pages/examples/exercises"]
import browser.plain_loops
from browser import answering
answering.answer, answering.versions()
`;

async function load(packages) {
  const began = performance.now(), quiet = {messageCallback: () => {}};
  postMessage({stage: "Loading Python"});
  const python = await loadPyodide({stdout: () => {}, stderr: () => {}});
  postMessage({stage: `Loading ${packages.join(", ")}`});
  await python.loadPackage(packages, quiet);
  const sources = await fetch(new URL("pages.zip", import.meta.url));
  if (!sources.ok) throw new Error(`pages.zip: ${sources.statusText}`);
  python.unpackArchive(await sources.arrayBuffer(), "zip", {extractDir: "/pages"});
  const [answer, versions] = python.runPython(START);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  return {answer, versions: `${versions}, Pyodide ${python.version}; loaded in ${seconds} s`};
}

let python = null;

onmessage = async ({data: {packages, call, given}}) => {
  try {
    if (packages) python = load(packages);
    const {answer, versions} = await python;
    if (!call) return postMessage({ready: versions});
    const began = performance.now(), text = answer(call, JSON.stringify(given));
    postMessage({answer: JSON.parse(text), seconds: (performance.now() - began) / 1000});
  } catch (error) {
    // The last line of a traceback says what went wrong.
    postMessage({error: String(error.message || error).trim().split("\n").at(-1).slice(0, 500)});
  }
};
