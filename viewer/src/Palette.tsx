/** Dialogs: search and commands, keyboard shortcuts, saved views. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { showsFullSleep } from "./fold";
import { redo, undo } from "./history";
import { showFinding } from "./panes/Details";
import {
  address,
  collapsedGroups,
  trackFilter,
  applyAddress,
  goBack,
  goTo,
  groupOrder,
  hiddenTracks,
  homeRange,
  trackMoves,
  pinnedTracks,
  removedFindings,
  reveal,
  recording,
  savedViews,
  selectedRange,
  selection,
  sheet,
  showEvents,
  showsPair,
  tab,
  tabs,
  theme,
  transition,
  transitionIndex,
  view,
  entireRange,
  groupTitle,
  phaseDuration,
} from "./state";
import { duration } from "./time";
import { deleteView, saveView } from "./views";

interface Entry {
  text: string;
  hint: string;
  run: () => void;
}

function entries(): Entry[] {
  const current = transition.value;
  const all: Entry[] = [];
  current?.phases.forEach((phase) =>
    all.push({
      text: phase.title,
      hint: `phase, ${duration(phaseDuration(phase))}`,
      run: () => {
        selection.value = { kind: "phase", name: phase.name };
        tab.value = "account";
        goTo({ start: phase.start_ns, end: phase.end_ns });
      },
    }),
  );
  current?.findings.forEach((finding, index) =>
    all.push({ text: finding.title, hint: "finding", run: () => showFinding(index) }),
  );
  current?.phases.forEach((phase) =>
    phase.account.slice(0, 12).forEach((entry) =>
      all.push({
        text: entry.subject,
        hint: `${duration(entry.ns)} of ${phase.title}`,
        run: () => {
          selection.value = { kind: "phase", name: phase.name };
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
      run: () => {
        pinnedTracks.value = new Set([...pinnedTracks.value, track.id]);
        reveal(track.id);
      },
    }),
  );
  recording.value?.transitions.forEach((choice, index) =>
    all.push({
      text: choice.title,
      hint: "transition",
      run: () => ((transitionIndex.value = index), goTo({ start: choice.start_ns, end: choice.end_ns })),
    }),
  );
  return all;
}

const predictable = () =>
  new Set(transition.value?.findings.flatMap((finding, index) => (finding.changes.length ? [index] : [])));

const COMMANDS: [string, () => void][] = [
  ["Undo", undo],
  ["Redo", redo],
  ["Save this view, open a saved view", () => (sheet.value = "views")],
  [
    "Copy a link to this view",
    () => void navigator.clipboard.writeText(`${location.href.split("#")[0]}#${address()}`).catch(() => undefined),
  ],
  ["Show the entire transition", () => goTo(homeRange.value)],
  ["Fold or unfold the time asleep", () => (showsFullSleep.value = !showsFullSleep.value)],
  ["Collapse all groups", () => (collapsedGroups.value = new Set(recording.value?.tracks.map((track) => track.group)))],
  ["Expand all groups", () => (collapsedGroups.value = new Set())],
  ["Restore the order of tracks and groups", () => ((trackMoves.value = []), (groupOrder.value = []))],
  ["Show events of the selection or range", () => showEvents(selectedRange() ?? view.value)],
  ["Show or hide the other side of a comparison", () => (showsPair.value = !showsPair.value)],
  ["Show the entire recording", () => goTo(entireRange.value)],
  ["Back", goBack],
  ["Show hidden tracks", () => (hiddenTracks.value = new Set())],
  ["Unpin all tracks", () => (pinnedTracks.value = new Set())],
  ["Predict without all findings", () => (removedFindings.value = predictable())],
  ["Clear the prediction", () => (removedFindings.value = new Set())],
  ["Clear the filter", () => (trackFilter.value = "")],
  ["Light theme", () => (theme.value = "light")],
  ["Dark theme", () => (theme.value = "dark")],
  ["System theme", () => (theme.value = "")],
  ["Print", () => window.print()],
  ["Keyboard shortcuts", () => (sheet.value = "keys")],
];

export function Palette() {
  const [text, setText] = useState("");
  const [activeIndex, setActiveIndex] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const searchEntries = useMemo(entries, [recording.value, transition.value]);
  useEffect(() => input.current?.focus(), []);
  const isCommand = text.startsWith(">");
  const words = text.replace(/^>/, "").toLowerCase().split(/\s+/).filter(Boolean);
  const commands = [
    ...COMMANDS,
    ...tabs.value.map(([name, title]): [string, () => void] => [`Show ${title}`, () => (tab.value = name)]),
  ];
  const found = (isCommand ? commands.map(([text, run]) => ({ text, hint: "command", run })) : searchEntries)
    .filter((entry) => words.every((word) => `${entry.text} ${entry.hint}`.toLowerCase().includes(word)))
    .slice(0, 40);
  const run = (entry: Entry | undefined) => {
    sheet.value = "";
    entry?.run();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setActiveIndex(Math.max(0, Math.min(found.length - 1, activeIndex + (event.key === "ArrowDown" ? 1 : -1))));
    } else if (event.key === "Enter") run(found[activeIndex]);
  };
  return (
    <Sheet title="Search">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found[activeIndex] ? `found-${activeIndex}` : undefined}
        aria-label="Search phases, tracks and findings; type > for commands"
        placeholder="Phase, service, driver, process or finding; type > for commands"
        value={text}
        onInput={(event) => (setText(event.currentTarget.value), setActiveIndex(0))}
        onKeyDown={keys}
      />
      <ul id="found" role="listbox" aria-label="Results">
        {found.map((entry, index) => (
          <li id={`found-${index}`} role="option" aria-selected={index === activeIndex} onClick={() => run(entry)}>
            <span>{entry.text}</span> <small>{entry.hint}</small>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p>No matches.</p>}
    </Sheet>
  );
}

const KEYS: [string, string][] = [
  ["W S", "zoom in, zoom out"],
  ["A D", "pan left, pan right"],
  ["Ctrl + wheel", "zoom at the pointer"],
  ["Shift + drag", "pan"],
  ["Drag", "select a range"],
  ["Double click", "zoom to the interval under the pointer"],
  ["F", "zoom to the selection or range"],
  [". ,", "next, previous interval on the selected track"],
  ["← →", "previous, next interval on the selected track"],
  ["↑ ↓", "select an interval on the previous, next track"],
  ["Shift + ← →", "select a range from the middle of the view"],
  ["Enter", "go to the waits of the selected interval"],
  ["[ ]", "previous, next phase"],
  ["Shift + ↑ ↓", "move the selected track (or drag its name)"],
  ["E", "show events of the selection or range"],
  ["P", "pin the selected track"],
  ["H", "hide the selected track"],
  ["X", "predict with or without the selected finding"],
  ["1 to 8", "switch tabs"],
  ["B", "in a comparison: switch to the other side, aligned at the same phase"],
  ["O", "in a comparison: show or hide the lanes of the other side"],
  ["U or Ctrl + Z", "undo"],
  ["Y or Ctrl + Shift + Z", "redo"],
  ["V", "saved views"],
  ["Backspace", "back to the previous range"],
  ["0", "show the entire recording"],
  ["/ or Ctrl + P", "search; type > for commands"],
  ["Esc", "close the rows above the lanes, then clear the selection"],
  ["?", "show this list"],
];

export function Keys() {
  return (
    <Sheet title="Keyboard shortcuts">
      <table class="keys">
        <tbody>
          {KEYS.map(([key, action]) => (
            <tr>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{action}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">
        The address contains the current view: share the link to show others the same range, selection and layout.
      </p>
    </Sheet>
  );
}

export function Views() {
  const [name, setName] = useState("");
  const save = (event: Event) => {
    event.preventDefault();
    saveView(name);
    setName("");
  };
  return (
    <Sheet title="Saved views">
      <form onSubmit={save} class="naming">
        <input
          type="text"
          aria-label="View name"
          placeholder="Name for this view"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" disabled={name.trim() === ""}>
          Save
        </button>
      </form>
      {savedViews.value.length === 0 && <p class="hint">No saved views.</p>}
      <ul class="views">
        {savedViews.value.map((saved) => (
          <li>
            <button type="button" class="link" onClick={() => ((sheet.value = ""), applyAddress(saved.address))}>
              {saved.name}
            </button>
            <button type="button" aria-label={`Delete ${saved.name}`} onClick={() => deleteView(saved.name)}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <p class="hint">
        Saved views are part of the address, so links include them. This browser also stores them for this recording.
      </p>
    </Sheet>
  );
}

function Sheet({ title, children }: { title: string; children: preact.ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    const previousFocus = document.activeElement;
    dialog?.showModal();
    return () => (previousFocus instanceof HTMLElement ? previousFocus.focus() : undefined);
  }, []);
  return (
    <dialog
      ref={box}
      aria-label={title}
      onClose={() => (sheet.value = "")}
      onClick={(event) => event.target === box.current && (sheet.value = "")}
    >
      <div class="sheet">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
