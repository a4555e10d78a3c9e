/**
 * The studio's page: screens around the loom, and a server on this machine for what needs Python. In a worker, the same
 * script answers questions about a model.
 */
import { serve } from "./loom/workers.js";
import { Shell } from "./studio/shell.js";

if (typeof document === "undefined") serve(/** @type {any} */ (globalThis));
else new Shell(/** @type {HTMLElement} */ (document.getElementById("studio"))).start();
