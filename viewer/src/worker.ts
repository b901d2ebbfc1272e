/**
 * The worker that keeps the reader (WebAssembly) and the opened recordings, and answers one request at a time. The text of
 * this function is the script of the worker, so it must not use anything outside.
 */

export interface NamedFile {
  /** With the names of its folders. */
  name: string;
  file: File;
}

declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

export type Request = { id: number } & ({ reader: ArrayBuffer } | { files: NamedFile[] } | { query: string });
export type Reply = { id: number; text: string } | { id: number; first: string } | { id: number; error: string };

/** `unpack` unpacks the reader. */
export function readerWorker(unpack: (packed: Uint8Array) => Uint8Array): void {
  type Reader = {
    memory: WebAssembly.Memory;
    onoff_reserve(length: number): number;
    onoff_add_file(nameLength: number): void;
    onoff_open_first(): number;
    onoff_open(): number;
    onoff_ask(): number;
    onoff_answer(): number;
    onoff_answer_length(): number;
  };
  /** Files larger than this are shown with their phases first. */
  const LARGE = 32 << 20;
  /** Bytes of a file that are in memory twice while it is copied. */
  const WINDOW = 16 << 20;
  let module: WebAssembly.Module;
  let reader: Reader;
  const start = (): void => {
    // Only the encryption of archives imports random numbers.
    const imports: WebAssembly.Imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      (imports[from] ??= {})[name] = () => {
        throw new Error(`${name} is not available`);
      };
    }
    reader = new WebAssembly.Instance(module, imports).exports as unknown as Reader;
  };
  const write = (length: number, fill: (memory: Uint8Array) => void): void => {
    const address = length < 2 ** 32 ? reader.onoff_reserve(length) : 0;
    if (address === 0)
      throw new Error(
        "The files do not fit into the 4 GiB of memory that a page can use. Open them with the program: onoff view FILE",
      );
    fill(new Uint8Array(reader.memory.buffer, address >>> 0, length));
  };
  const answer = (code: number): string => {
    const bytes = new Uint8Array(reader.memory.buffer, reader.onoff_answer() >>> 0, reader.onoff_answer_length() >>> 0);
    const text = new TextDecoder().decode(bytes);
    if (code !== 0) throw new Error(text);
    return text;
  };
  const open = (id: number, files: NamedFile[]): string => {
    // A new instance, because the memory of the last one does not shrink.
    start();
    for (const { name, file } of files) {
      const nameBytes = new TextEncoder().encode(name);
      write(file.size + nameBytes.length, (memory) => {
        for (let at = 0; at < file.size; at += WINDOW)
          memory.set(new Uint8Array(new FileReaderSync().readAsArrayBuffer(file.slice(at, at + WINDOW))), at);
        memory.set(nameBytes, file.size);
      });
      reader.onoff_add_file(nameBytes.length);
    }
    if (files.reduce((sum, { file }) => sum + file.size, 0) > LARGE)
      postMessage({ id, first: answer(reader.onoff_open_first()) } satisfies Reply);
    return answer(reader.onoff_open());
  };
  const ask = (query: string): string => {
    const bytes = new TextEncoder().encode(query);
    write(bytes.length, (memory) => memory.set(bytes));
    return answer(reader.onoff_ask());
  };
  const respond = async (request: Request): Promise<string> => {
    if ("files" in request) return open(request.id, request.files);
    if ("query" in request) return ask(request.query);
    module = await WebAssembly.compile(unpack(new Uint8Array(request.reader)) as Uint8Array<ArrayBuffer>);
    return "";
  };
  self.onmessage = async ({ data }: MessageEvent<Request>) => {
    let reply: Reply;
    try {
      reply = { id: data.id, text: await respond(data) };
    } catch (error) {
      const isTrap = error instanceof WebAssembly.RuntimeError;
      const message = error instanceof Error ? error.message : String(error);
      reply = {
        id: data.id,
        error: isTrap
          ? `The reader stopped (${message}): the recording may need more memory than a page can use. Open it with the program: onoff view FILE`
          : message,
      };
    }
    postMessage(reply);
  };
}
