// A worker with a Python of its own. It is handed calls, the first with the packages to load, and answers each.
import {loadPython, read} from "./loading.js";

const START = `
import sys
sys.path[:0] = ["/pages", "/pages/docs", "/pages/examples", "/pages/examples/exercises"]
import browser.plain_loops
from browser import answering
answering.answer, answering.versions()
`;

async function load(packages) {
  const began = performance.now();
  postMessage({stage: `Loading Python, ${packages.join(", ")}`});
  const python = await loadPython(packages, {stdout: () => {}, stderr: () => {}});
  python.unpackArchive(await read("pages.zip"), "zip", {extractDir: "/pages"});
  const [answer, versions] = python.runPython(START);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  postMessage({ready: `${versions}, Pyodide ${python.version}; loaded in ${seconds} s`});
  return answer;
}

let python = null;

onmessage = async ({data: {packages, call, given}}) => {
  try {
    python ??= load(packages);
    const answer = await python, began = performance.now(), text = answer(call, JSON.stringify(given));
    postMessage({answer: JSON.parse(text), seconds: (performance.now() - began) / 1000});
  } catch (error) {
    // The last line of a traceback says what went wrong.
    const said = String(error.message || error).trim().split("\n").at(-1).slice(0, 500);
    // Errors of Python have a type. After any other this Python is of no more use.
    postMessage(error.type ? {error: said} : {failed: said});
  }
};
