// Writes the page that opens recordings by itself: one file, and the same as a folder for a web server.
//
//   node tools/make-site.mjs PAGE MODULE FOLDER
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [page_path, module_path, folder] = process.argv.slice(2);
const page = readFileSync(page_path, "utf8");
const module = readFileSync(module_path);
// The page unpacks LZMA itself: about 30 % smaller than gzip, and no server has to support it. These options suit WebAssembly.
const options = ["--format=lzma", "--lzma1=preset=9e,lc=4,lp=0,pb=0", "--stdout"];
const reader = execFileSync("xz", options, { input: module, maxBuffer: 1 << 28 });
// xz writes an end mark in place of the length.
reader.writeUInt32LE(module.length, 5);
reader.writeUInt32LE(0, 9);

/** The largest reader, bytes: what a browser downloads. */
const MAX_BYTES = 2_000_000;
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
writeFileSync(join(folder, "index.html"), site(' data-src="onoff.wasm.lzma"', ""));
writeFileSync(join(folder, "onoff.wasm.lzma"), reader);
console.log(`${folder}: the reader has ${reader.length} bytes`);
