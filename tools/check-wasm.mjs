// Runs the WebAssembly library on recordings, and checks that its output matches the program's.
//
//   node tools/check-wasm.mjs MODULE PROGRAM RECORDING…
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import assert from "node:assert/strict";

const [module_path, program, ...recordings] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(module_path));
// The .zip reader imports random number functions, which are only needed to write encrypted archives: a call is an error.
const imports = {};
for (const { module: module_name, name } of WebAssembly.Module.imports(module)) {
    imports[module_name] = { ...imports[module_name], [name]: () => assert.fail(`${module_name}.${name} was called`) };
}
const instance = new WebAssembly.Instance(module, imports);
const onoff = instance.exports;

function answer() {
    return new TextDecoder().decode(new Uint8Array(onoff.memory.buffer, onoff.onoff_answer(), onoff.onoff_answer_length()));
}

function ask(name, bytes, json, question = "boot") {
    const name_bytes = new TextEncoder().encode(name);
    onoff.onoff_clear();
    const address = onoff.onoff_reserve(name_bytes.length + bytes.length);
    assert.notEqual(address, 0, "memory for the recording");
    const memory = new Uint8Array(onoff.memory.buffer);
    memory.set(bytes, address);
    memory.set(name_bytes, address + bytes.length);
    onoff.onoff_add_file(name_bytes.length);
    const code = onoff[`onoff_${question}`](json);
    return { code, text: answer() };
}

for (const recording of recordings) {
    const bytes = readFileSync(recording);
    const start = performance.now();
    const json = ask(recording, bytes, 1);
    const seconds = ((performance.now() - start) / 1000).toFixed(2);
    assert.equal(json.code, 0, json.text);
    const expected = execFileSync(program, ["boot", recording, "--format", "json"], { encoding: "utf8", maxBuffer: 1 << 28 });
    assert.deepEqual(JSON.parse(json.text), JSON.parse(expected), `${recording}: JSON`);
    const text = ask(recording, bytes, 0);
    // The library's text has colors; the program omits them when stdout is not a terminal.
    const plain = text.text.replace(/\u001b\[[0-9;]*m/g, "");
    assert.equal(plain, execFileSync(program, ["boot", recording], { encoding: "utf8" }), `${recording}: text`);
    console.log(`${recording}: same output as the program, in ${seconds} s`);
}

// The other queries, for recordings that have data for them.
for (const [question, recording] of [
    ["shutdown", "samples/slow-shutdown.etl"],
    ["suspend", "samples/slow-sleep.etl"],
    ["processes", "samples/slow-boot.etl"],
    ["services", "samples/slow-boot.etl"],
]) {
    const bytes = readFileSync(recording);
    const json = ask(recording, bytes, 1, question);
    assert.equal(json.code, 0, json.text);
    const run = (...format) => execFileSync(program, [question, recording, ...format], { encoding: "utf8", maxBuffer: 1 << 28 });
    assert.deepEqual(JSON.parse(json.text), JSON.parse(run("--format", "json")), `${question}: JSON`);
    const text = ask(recording, bytes, 0, question).text.replace(/\u001b\[[0-9;]*m/g, "");
    assert.equal(text, run(), `${question}: text`);
    console.log(`${question}: same output as the program`);
}

// Lanes of a recording have at most as many entries as fit on a screen, and count all intervals.
const PIXELS = 300;
ask("slow-boot.etl", readFileSync("samples/slow-boot.etl"), 1);
assert.equal(onoff.onoff_tracks(), 0, "tracks");
const tracks = JSON.parse(answer());
assert.ok(tracks.some((track) => track.kind === "slices") && tracks.some((track) => track.kind === "utilization"), "both kinds of track");
let intervals = 0;
for (const { id, name, kind } of tracks) {
    assert.equal(onoff.onoff_lane(id, -(2n ** 62n), 2n ** 62n, 1), 0, name);
    const full_lane = JSON.parse(answer());
    assert.equal(onoff.onoff_lane(id, 0n, 60_000_000_000n, PIXELS), 0, name);
    const lane = JSON.parse(answer());
    assert.equal(lane.kind, kind);
    if (kind === "utilization") {
        assert.equal(lane.busy.length, PIXELS, name);
        continue;
    }
    if (kind === "stacked") {
        assert.ok(lane.series.length > 0 && lane.series.every((series) => series.busy.length === PIXELS), name);
        continue;
    }
    const count = (lane) => lane.rows.flatMap((row) => row.count).reduce((sum, number) => sum + number, 0);
    assert.ok(lane.rows.every((row) => row.count.length <= 2 * PIXELS + 1), `${name}: at most two entries per pixel`);
    assert.ok(count(lane) <= count(full_lane), `${name}: every interval once`);
    intervals += count(full_lane);
}
assert.ok(intervals > 0, "intervals");
assert.equal(onoff.onoff_lane(tracks.length, 0n, 1n, 1), 2, "no such track");
console.log(`lanes: ${tracks.length} tracks, drawn in ${PIXELS} pixels`);

// The page is the same as the program's, and answers queries.
const folder = mkdtempSync(join(tmpdir(), "onoff-wasm-"));
execFileSync(program, ["view", "samples/slow-boot.etl", "-o", join(folder, "page.html")]);
const [, written] = /id="page-data">(.*?)<\/script>/s.exec(readFileSync(join(folder, "page.html"), "utf8"));
rmSync(folder, { recursive: true });
ask("slow-boot.etl", readFileSync("samples/slow-boot.etl"), 1);
assert.equal(onoff.onoff_open(), 0, "page");
const { page, not_shown } = JSON.parse(answer());
assert.deepEqual(not_shown, []);
for (const name of ["name", "machine", "start_ns", "duration_ns", "tracks", "folds", "losses", "missing"]) {
    assert.deepEqual(page.recordings[0][name], JSON.parse(written).recordings[0][name], `page: ${name}`);
}
const query = new TextEncoder().encode("what-if?transition=0&findings=0");
const place = onoff.onoff_reserve(query.length);
new Uint8Array(onoff.memory.buffer).set(query, place);
assert.equal(onoff.onoff_ask(), 0, "query");
assert.deepEqual(JSON.parse(answer()), JSON.parse(written).recordings[0].transitions[0].predictions[0], "prediction");
console.log("page: as in the program");

// Files that are not recordings, and recordings without a boot, fail with a reason and different codes.
const noise = ask("noise.bin", new Uint8Array(4096).fill(7), 1);
assert.equal(noise.code, 1);
assert.match(noise.text, /noise\.bin: unknown format/);
const shutdown = ask("slow-shutdown.etl", readFileSync("samples/slow-shutdown.etl"), 1);
assert.equal(shutdown.code, 2);
assert.match(shutdown.text, /shutdown/);
console.log("errors: as in the program");
