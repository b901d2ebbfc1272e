// Writes the page that opens recordings by itself: one file, and the same as a folder for a web server.
//
//   node tools/make-site.mjs PAGE MODULE FOLDER
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";

const [page_path, module_path, folder] = process.argv.slice(2);
const page = readFileSync(page_path, "utf8");
const reader = gzipSync(readFileSync(module_path), { level: constants.Z_BEST_COMPRESSION });

/** The largest reader, bytes. It has 2.67 MB; the aim is 2 MB. */
const MAX_BYTES = 2_800_000;
if (reader.length > MAX_BYTES && !process.env.ONOFF_ANY_SIZE) throw new Error(`${module_path} has ${reader.length} bytes when compressed, more than ${MAX_BYTES}`);

function replace(text, old, by) {
    if (!text.includes(old)) throw new Error(`${page_path} has no '${old}'`);
    return text.replace(old, () => by);
}

function site(source, content) {
    let html = replace(page, "script-src ", "worker-src blob:; script-src 'wasm-unsafe-eval' ");
    html = replace(html, "<noscript>This page requires JavaScript. To print the same results, run: onoff boot FILE</noscript>", "<noscript>This page requires JavaScript to read recordings.</noscript>");
    return replace(html, '<script type="application/json" id="page-data">', `<script type="application/octet-stream" id="reader"${source}>${content}</script>\n<script type="application/json" id="page-data">`);
}

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "onoff.html"), site("", reader.toString("base64")));
writeFileSync(join(folder, "index.html"), site(' data-src="onoff.wasm.gz"', ""));
writeFileSync(join(folder, "onoff.wasm.gz"), reader);
console.log(`${folder}: the reader has ${reader.length} bytes`);
