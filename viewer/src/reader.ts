/** The reader in a page without a server: opens files in a worker, and answers the queries of the page. */

import { batch, signal } from "@preact/signals";
import { readPage } from "./data";
import { showNewer } from "./growing";
import { unpackLzma } from "./lzma";
import { answerWith } from "./source";
import { readerWorker, type NamedFile, type Reply, type Request } from "./worker";

/** The reader in this page, or the address of it; absent from pages of `onoff view`. */
const element = document.getElementById("reader");
export const hasReader = element !== null;

/** What is being read; empty otherwise. */
export const reading = signal("");
/** Why files are not shown. */
export const notShown = signal<string[]>([]);

let worker: Worker | null = null;
let started: Promise<unknown> | null = null;
let lastId = 0;
/** True if the page already shows the phases of the files that are being opened. */
let hasFirst = false;
const waiting = new Map<number, { resolve: (text: string) => void; reject: (error: Error) => void }>();

function ask(request: { reader: ArrayBuffer } | { files: NamedFile[] } | { query: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    lastId += 1;
    waiting.set(lastId, { resolve, reject });
    worker?.postMessage({ id: lastId, ...request } satisfies Request);
  });
}

async function packedReader(): Promise<ArrayBuffer> {
  const address = element?.dataset["src"];
  if (!address)
    return Uint8Array.from(atob(element?.textContent?.trim() ?? ""), (letter) => letter.charCodeAt(0)).buffer;
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: HTTP status ${response.status}`);
  return response.arrayBuffer();
}

async function start(): Promise<void> {
  if (typeof WebAssembly !== "object")
    throw new Error("This browser cannot read recordings: WebAssembly is missing or switched off");
  const script = `(${readerWorker.toString()})(${unpackLzma.toString()})`;
  worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    if ("first" in data) {
      showNewer(readPage(data.first), location.hash.slice(1), true);
      hasFirst = true;
      return;
    }
    const { resolve, reject } = waiting.get(data.id) ?? {};
    waiting.delete(data.id);
    if ("text" in data) resolve?.(data.text);
    else reject?.(new Error(data.error));
  };
  worker.onerror = (event) => {
    for (const { reject } of waiting.values())
      reject(new Error(event.message || "This browser does not start workers for this page"));
    waiting.clear();
  };
  await ask({ reader: await packedReader() });
}

/** Opens files as the page. Nothing leaves the computer. */
export async function openFiles(files: NamedFile[]): Promise<void> {
  if (files.length === 0 || reading.value) return;
  reading.value = files.length === 1 ? (files[0]?.name ?? "") : `${files.length} files`;
  notShown.value = [];
  hasFirst = false;
  try {
    await (started ??= start());
    const opened = JSON.parse(await ask({ files })) as { page: unknown; not_shown: string[] };
    answerWith(async (request) => JSON.parse(await ask({ query: request })));
    batch(() => {
      showNewer(readPage(JSON.stringify(opened.page)), location.hash.slice(1), !hasFirst);
      notShown.value = opened.not_shown;
    });
  } catch (error) {
    notShown.value = [error instanceof Error ? error.message : String(error)];
    if (!worker) started = null;
  } finally {
    reading.value = "";
  }
}

/** The files of a folder, or the file itself. */
async function filesOf(entry: FileSystemEntry): Promise<NamedFile[]> {
  const name = entry.fullPath.replace(/^\//, "");
  if (entry.isFile)
    return [
      { name, file: await new Promise<File>((found, failed) => (entry as FileSystemFileEntry).file(found, failed)) },
    ];
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const files: NamedFile[] = [];
  // A folder is listed in parts.
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((found, failed) => reader.readEntries(found, failed));
    if (part.length === 0) return files;
    for (const each of part) files.push(...(await filesOf(each)));
  }
}

export async function openDropped(data: DataTransfer | null): Promise<void> {
  const dropped = [...(data?.items ?? [])].map((item) => {
    const entry = item.webkitGetAsEntry();
    return entry?.isDirectory ? entry : item.getAsFile();
  });
  const files: NamedFile[] = [];
  for (const each of dropped)
    files.push(...(each instanceof File ? [{ name: each.name, file: each }] : each ? await filesOf(each) : []));
  await openFiles(files);
}
