/** The waits of a thread or process in a range. Each names the thread that ended it, which is the next link. */

import { useEffect, useState } from "preact/hooks";
import type { Wait, Waits as Answer } from "../data";
import { fetchWaits } from "../source";
import { chain, goTo, page, recordingIndex, selectThread, toneTitle, type Range } from "../state";
import { duration } from "../time";
import { CopyButtons } from "./Table";

/** Number of waits that are shown before the reader asks for all. */
const FIRST = 40;

export function Waits({ thread, process, range }: { thread: number; process: number; range: Range }) {
  const key = `${recordingIndex.value} ${thread} ${process} ${range.start} ${range.end}`;
  const [loaded, setLoaded] = useState<{ key: string; answer?: Answer; error?: string }>({ key: "" });
  const [open, setOpen] = useState("");
  const [showsAll, setShowsAll] = useState(false);
  const isServed = page.value.served;
  useEffect(() => {
    if (!isServed) return undefined;
    let isCurrent = true;
    fetchWaits({ thread, process }, range).then(
      (answer) => isCurrent && setLoaded({ key, answer }),
      (error: Error) => isCurrent && setLoaded({ key, error: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, isServed]);
  if (!isServed)
    return <p class="hint">This file contains no waits of single threads. Open the recording with: onoff view FILE</p>;
  const { answer, error } = loaded.key === key ? loaded : { answer: undefined, error: undefined };
  if (error) return <p role="alert">{error}</p>;
  if (!answer) return <p class="hint">Loading…</p>;
  if (answer.nothing) return <p>{answer.nothing}</p>;
  const ended = (wait: Wait) => wait.ready_ns ?? range.end;
  const shown = showsAll ? answer.waits : answer.waits.slice(0, FIRST);
  const raw = () => [
    ["thread", "start_ns", "duration_ns", "waited_for", "ended_by", "reason", "certainty"],
    ...answer.waits.map((wait) => [
      wait.thread.name,
      String(wait.start_ns),
      wait.ready_ns === null ? "" : String(wait.ready_ns - wait.start_ns),
      wait.waited_for,
      wait.ended_by?.name ?? "",
      wait.reason,
      wait.certainty,
    ]),
  ];
  return (
    <figure class="table waits">
      <figcaption>
        {answer.of === 1 ? "1 wait" : `${answer.of} waits`}, {duration(range.start)} to {duration(range.end)}, longest
        first
        <CopyButtons rows={raw} />
      </figcaption>
      <table>
        <thead>
          <tr>
            <th scope="col" class="number">
              Start
            </th>
            <th scope="col" class="number">
              Duration
            </th>
            {process > 0 && <th scope="col">Thread</th>}
            <th scope="col">Waited for</th>
            <th scope="col">Ended by</th>
            <th scope="col">Reason</th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((wait, index) => {
            const id = `${wait.thread.tid} ${wait.start_ns}`;
            const whole = { start: wait.start_ns, end: wait.run_ns ?? ended(wait) };
            return (
              <>
                <tr>
                  <td class="number">
                    <button
                      type="button"
                      class="link"
                      onClick={() =>
                        goTo({
                          start: whole.start - (whole.end - whole.start) * 0.2,
                          end: whole.end + (whole.end - whole.start) * 0.2 + 1_000,
                        })
                      }
                    >
                      {duration(wait.start_ns)}
                    </button>
                  </td>
                  <td class="number">
                    {wait.ready_ns === null ? "≥ " : ""}
                    {duration(ended(wait) - wait.start_ns)}
                  </td>
                  {process > 0 && (
                    <td>
                      <button
                        type="button"
                        class="link"
                        onClick={() => selectThread(wait.thread.tid, wait.thread.name, range)}
                      >
                        {wait.thread.tid}
                      </button>
                    </td>
                  )}
                  <td>
                    <span class={`kind tone${wait.tone}`} title={toneTitle(wait.tone)}>
                      {wait.waited_for}
                    </span>
                    {wait.certainty === "inferred" ? <span class="hint"> inferred</span> : ""}
                  </td>
                  <td>
                    {wait.ended_by ? (
                      <button
                        type="button"
                        class="link"
                        onClick={() =>
                          wait.ended_by &&
                          selectThread(wait.ended_by.tid, wait.ended_by.name, {
                            start: wait.start_ns,
                            end: ended(wait),
                          })
                        }
                      >
                        {wait.ended_by.name}
                      </button>
                    ) : (
                      ""
                    )}
                  </td>
                  <td>{wait.reason}</td>
                  <td class="actions">
                    <button
                      type="button"
                      class="evidence"
                      onClick={() => (chain.value = { thread: wait.thread.tid, ...whole })}
                    >
                      chain
                    </button>
                    {wait.stack.length + wait.ending_stack.length > 0 && (
                      <button
                        type="button"
                        class="evidence"
                        aria-expanded={open === id}
                        onClick={() => setOpen(open === id ? "" : id)}
                      >
                        stack
                      </button>
                    )}
                  </td>
                </tr>
                {open === id && (
                  <tr key={index}>
                    <td colSpan={process > 0 ? 7 : 6}>
                      <div class="stacks">
                        <Stack title={`Thread ${wait.thread.tid} when it ran again`} frames={wait.stack} />
                        <Stack
                          title={`Thread ${wait.ended_by?.tid ?? ""} when it ended the wait`}
                          frames={wait.ending_stack}
                        />
                      </div>
                    </td>
                  </tr>
                )}
              </>
            );
          })}
        </tbody>
      </table>
      {answer.waits.length > shown.length && (
        <button type="button" onClick={() => setShowsAll(true)}>
          Show {answer.waits.length} waits
        </button>
      )}
      {answer.of > answer.waits.length && (
        <p class="hint">{answer.of - answer.waits.length} shorter waits are not listed: select a shorter range.</p>
      )}
    </figure>
  );
}

function Stack({ title, frames }: { title: string; frames: string[] }) {
  if (frames.length === 0) return null;
  return (
    <div>
      <b>{title}</b>
      {frames.map((frame) => (
        <code>{frame}</code>
      ))}
    </div>
  );
}
