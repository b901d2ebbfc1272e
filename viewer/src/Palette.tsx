/** One box to find a phase, a track or a finding, and to run a command; and the sheet of keys. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { unfolded } from "./fold";
import { redo, undo } from "./history";
import { showFinding } from "./panes/Details";
import { took } from "./Ribbon";
import {
  address, collapsed, filter, follow, goBack, goTo, groupOrder, hidden, home, moves, pinned, recording, saved, selectedRange, selection, sheet, showEvents, tab, tabs, theme, transition, transitionIndex, view,
  whole,
  groupTitle,
} from "./state";
import { duration } from "./time";
import { forgetView, saveView } from "./views";

interface Entry {
  text: string;
  hint: string;
  run: () => void;
}

function entries(): Entry[] {
  const it = transition.value;
  const all: Entry[] = [];
  it?.phases.forEach((phase) =>
    all.push({
      text: phase.title,
      hint: `phase, ${duration(took(phase))}`,
      run: () => {
        selection.value = { of: "phase", name: phase.name };
        tab.value = "account";
        goTo({ start: phase.start_ns, end: phase.end_ns });
      },
    }),
  );
  it?.findings.forEach((finding, index) => all.push({ text: finding.title, hint: "finding", run: () => showFinding(index) }));
  it?.phases.forEach((phase) =>
    phase.account.slice(0, 12).forEach((entry) =>
      all.push({
        text: entry.subject,
        hint: `held ${phase.title} for ${duration(entry.ns)}`,
        run: () => {
          selection.value = { of: "phase", name: phase.name };
          tab.value = "account";
          goTo({ start: phase.start_ns, end: phase.end_ns });
        },
      }),
    ),
  );
  recording.value?.tracks.forEach((track) =>
    all.push({
      text: track.name,
      hint: [groupTitle(track.group), track.section].filter(Boolean).join(" · "),
      run: () => (pinned.value = new Set([...pinned.value, track.id])),
    }),
  );
  recording.value?.transitions.forEach((each, index) =>
    all.push({ text: each.title, hint: "transition", run: () => ((transitionIndex.value = index), goTo({ start: each.start_ns, end: each.end_ns })) }),
  );
  return all;
}

const COMMANDS: [string, () => void][] = [
  ["Undo", undo],
  ["Redo", redo],
  ["Name this view, open a named view", () => (sheet.value = "views")],
  ["Copy a link to this view", () => void navigator.clipboard.writeText(`${location.href.split("#")[0]}#${address()}`).catch(() => undefined)],
  ["Whole transition", () => goTo(home.value)],
  ["Time asleep: at its length, or folded", () => (unfolded.value = !unfolded.value)],
  ["Fold all groups", () => (collapsed.value = new Set(recording.value?.tracks.map((track) => track.group)))],
  ["Unfold all groups", () => (collapsed.value = new Set())],
  ["Tracks and groups in their own order", () => ((moves.value = []), (groupOrder.value = []))],
  ["Events of the selection or the marked range", () => showEvents(selectedRange() ?? view.value)],
  ["Whole recording", () => goTo(whole.value)],
  ["Back", goBack],
  ["Show hidden tracks", () => (hidden.value = new Set())],
  ["Remove all pins", () => (pinned.value = new Set())],
  ["Clear the filter", () => (filter.value = "")],
  ["Light", () => (theme.value = "light")],
  ["Dark", () => (theme.value = "dark")],
  ["As the system: light or dark", () => (theme.value = "")],
  ["Print", () => window.print()],
  ["Keys", () => (sheet.value = "keys")],
];

export function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const everything = useMemo(entries, [recording.value, transition.value]);
  useEffect(() => input.current?.focus(), []);
  const command = text.startsWith(">");
  const words = text.replace(/^>/, "").toLowerCase().split(/\s+/).filter(Boolean);
  const commands = [...COMMANDS, ...tabs.value.map(([name, title]): [string, () => void] => [`Show ${title}`, () => (tab.value = name)])];
  const found = (command ? commands.map(([text, run]) => ({ text, hint: "command", run })) : everything)
    .filter((entry) => words.every((word) => `${entry.text} ${entry.hint}`.toLowerCase().includes(word)))
    .slice(0, 40);
  const run = (entry: Entry | undefined) => {
    sheet.value = "";
    entry?.run();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))));
    } else if (event.key === "Enter") run(found[at]);
  };
  return (
    <Sheet title="Search">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found[at] ? `found-${at}` : undefined}
        aria-label="Search phases, tracks and findings; > for commands"
        placeholder="Phase, service, driver, process, finding; > for commands"
        value={text}
        onInput={(event) => (setText(event.currentTarget.value), setAt(0))}
        onKeyDown={keys}
      />
      <ul id="found" role="listbox" aria-label="Found">
        {found.map((entry, index) => (
          <li id={`found-${index}`} role="option" aria-selected={index === at} onClick={() => run(entry)}>
            <span>{entry.text}</span> <small>{entry.hint}</small>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p>Nothing of that name.</p>}
    </Sheet>
  );
}

const KEYS: [string, string][] = [
  ["W S", "zoom in, out"],
  ["A D", "left, right"],
  ["Ctrl + wheel", "zoom at the pointer"],
  ["Shift + drag", "pan"],
  ["Drag", "mark a range"],
  ["Double click", "zoom to what is there"],
  ["F", "zoom to the selection or the marked range"],
  [". ,", "next, previous interval on the selected track"],
  ["[ ]", "previous, next phase"],
  ["Shift + ↑ ↓", "move the selected track; names can be dragged, too"],
  ["E", "the events of the selection or the marked range"],
  ["P", "pin the selected track"],
  ["H", "hide the selected track"],
  ["1 to 8", "the tabs below"],
  ["B", "in a comparison: the other side, at the same place of the same phase"],
  ["U or Ctrl + Z", "undo"],
  ["Y or Ctrl + Shift + Z", "redo"],
  ["V", "views with a name"],
  ["Backspace", "back to the range before"],
  ["0", "the whole recording"],
  ["/ or Ctrl + P", "search; > for commands"],
  ["Esc", "drop the selection"],
  ["?", "this sheet"],
];

export function Keys() {
  return (
    <Sheet title="Keys">
      <table class="keys">
        <tbody>
          {KEYS.map(([key, what]) => (
            <tr>
              <th scope="row"><kbd>{key}</kbd></th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">The address holds the whole view ({duration(view.value.end - view.value.start)} now): send it, and others see the same.</p>
    </Sheet>
  );
}

/** The views that were given a name. */
export function Views() {
  const [name, setName] = useState("");
  const save = (event: Event) => {
    event.preventDefault();
    saveView(name);
    setName("");
  };
  return (
    <Sheet title="Views">
      <form onSubmit={save} class="naming">
        <input type="text" aria-label="Name of this view" placeholder="Name of this view" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <button type="submit" disabled={name.trim() === ""}>Save</button>
      </form>
      {saved.value.length === 0 && <p class="hint">No view has a name yet.</p>}
      <ul class="views">
        {saved.value.map((each) => (
          <li>
            <button type="button" class="link" onClick={() => ((sheet.value = ""), follow(each.address))}>{each.name}</button>
            <button type="button" aria-label={`Forget ${each.name}`} onClick={() => forgetView(each.name)}>×</button>
          </li>
        ))}
      </ul>
      <p class="hint">They are part of the address: a link holds them. This browser remembers them for this recording.</p>
    </Sheet>
  );
}

function Sheet({ title, children }: { title: string; children: preact.ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => (before instanceof HTMLElement ? before.focus() : undefined);
  }, []);
  return (
    <dialog ref={box} aria-label={title} onClose={() => (sheet.value = "")} onClick={(event) => event.target === box.current && (sheet.value = "")}>
      <div class="sheet">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
