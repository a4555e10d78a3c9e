// Sites as JSON values, for call.mjs.
import { sites } from "../engine.js";
import { readConfig } from "../engine/config.js";
import { match } from "../engine/sites.js";

export const listed = (config) => [...sites(readConfig(config))];
export const matched = (config, pattern) => match(pattern, sites(readConfig(config)));
