// Builds what pages carry, each with all it imports as one file: web/engine.js, which defines `handloom`; web/page.js,
// which shows models; web/style.css, the style of every page; web/notebook.css, the part that notebooks need; and
// web/studio.js and web/studio.css, the page of the studio.
//
//     node build.mjs                  all of them, into src/handloom
//     node build.mjs --kernel         engine/kernel.wasm.js from engine/kernel.c; needs clang-14 and lld-14
//
// The name of a folder behind it is where the files go instead. Built files are committed, so that installing handloom
// needs neither Node nor clang.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const STUDIO = join(HERE, "..", "src", "handloom", "studio", "static");
const PAGES = join(HERE, "..", "src", "handloom", "view", "pages");
const EXPORTS = ["heap", "matmul", "exp_all", "tanh_all"];
const CLANG = [
  ...["--target=wasm32", "-msimd128", "-O2", "-nostdlib", "-fno-builtin", "-ffp-contract=off", "-Wall", "-Werror"],
  ...["-Wl,--no-entry", "-Wl,--strip-all", ...EXPORTS.map((name) => `-Wl,--export=${name}`)],
];

/** The kernel as a module that holds its bytes in base64, so that a page is one file. */
function kernelModule() {
  const out = join(mkdtempSync(join(tmpdir(), "kernel-")), "kernel.wasm");
  execFileSync("clang-14", [...CLANG, "-o", out, join(HERE, "engine", "kernel.c")], { stdio: "inherit" });
  const text = readFileSync(out).toString("base64");
  return `/** kernel.c, compiled by build.mjs. */\nexport const KERNEL =\n  "${text}";\n`;
}

/** Bundle an entry and all it imports into one script; with a name, the script defines it. */
async function bundle(entry, outfile, globalName) {
  const esbuild = await import("esbuild");
  const kind = entry.endsWith(".css") ? "css" : "js";
  await esbuild.build({
    entryPoints: [join(HERE, entry)],
    outfile,
    bundle: true,
    minify: true,
    format: "iife",
    globalName,
    target: ["es2022", "chrome111", "firefox115", "safari16"],
    charset: "ascii",
    banner: { [kind]: `/* Built from web/${entry} by \`make web\`: change that. */` },
  });
}

const isKernel = process.argv[2] === "--kernel";
const folder = process.argv[isKernel ? 3 : 2];
if (isKernel) writeFileSync(join(folder ?? join(HERE, "engine"), "kernel.wasm.js"), kernelModule());
else {
  await bundle("engine.js", join(folder ?? PAGES, "engine.js"), "handloom");
  await bundle("page.js", join(folder ?? PAGES, "live.js"));
  for (const name of ["style.css", "notebook.css"]) await bundle(name, join(folder ?? PAGES, name));
  for (const name of ["studio.js", "studio.css"]) await bundle(name, join(folder ?? STUDIO, name));
}
