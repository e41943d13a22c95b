// A worker with a Python of its own for one proof. It is handed files, and answers with stages, then with the verdict.
import {loadPython, read} from "./loading.js";

const COMMAND = `
import platform, sys
import numpy
sys.path.insert(0, "/certificates")
import checker
f"Python {platform.python_version()}, NumPy {numpy.__version__}", checker.main
`;

onmessage = async ({data: files}) => {
  const lines = [], stream = line => lines.push(line), began = performance.now();
  let started = false;
  try {
    postMessage({stage: "Loading Python and NumPy"});
    const python = await loadPython(["numpy"], {stdout: stream, stderr: stream});
    python.unpackArchive(await read("certificates.zip"), "zip", {extractDir: "/certificates"});
    const [versions, main] = python.runPython(COMMAND);
    // Files are read where they are, not copied.
    python.FS.mkdir("/files");
    python.FS.mount(python.FS.filesystems.WORKERFS, {files}, "/files");
    python.FS.chdir("/files");
    const loading = (performance.now() - began) / 1000;
    postMessage({stage: "Proving"});
    started = true;
    const code = main(python.toPy(["--", ...files.map(file => file.name)]));
    postMessage({code, text: lines.join("\n"), loading, versions: `${versions}, Pyodide ${python.version}`});
  } catch (error) {
    // Python may end for good, by a file whose description is nested too deep for the stack of a browser.
    const said = `${error.name}: ${error.message}`.slice(0, 500);
    postMessage(started ? {code: 2, text: `refused: Python stopped: ${said}`} : {code: -1, text: `${said}`});
  }
};
