// Loading of Python, for the workers of this site.

const FILES = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];

// A file of this site; an error names the file.
export async function read(name) {
  let answer, bytes;
  try {
    answer = await fetch(new URL(name, import.meta.url));
    bytes = await answer.arrayBuffer();
  } catch {
    throw new Error(`This site does not answer: are you offline? (${name})`);
  }
  if (!answer.ok) throw new Error(`This site has no ${name}: ${answer.status} ${answer.statusText}`);
  return bytes;
}

export async function loadPython(packages, options) {
  // Pyodide waits forever for a file that does not come. What is read here it gets from what browsers keep.
  await Promise.all(FILES.map(name => read(`pyodide/${name}`)));
  const {loadPyodide} = await import("./pyodide/pyodide.mjs");
  const python = await loadPyodide(options), said = [];
  const tell = {messageCallback: () => {}, errorCallback: line => said.push(line)};
  await python.loadPackage(packages, tell);
  const missing = packages.filter(name => !(name in python.loadedPackages));
  if (missing.length) throw new Error(`This site did not send ${missing.join(", ")}: are you offline? ${said.join(" ")}`);
  return python;
}
