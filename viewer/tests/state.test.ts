import { beforeEach, describe, expect, it } from "vitest";
import type { Page, Phase, Track } from "../src/data";
import * as fold from "../src/fold";
import * as history from "../src/history";
import { otherRange, pair, visiblePart } from "../src/lanes/pair";
import * as state from "../src/state";
import { deleteView, saveView } from "../src/views";

const phase = (name: string, start_ns: number, end_ns: number): Phase => ({
  name,
  title: name,
  start_ns,
  end_ns,
  is_open: false,
  idle_ns: 0,
  user_input_ns: 0,
  shade: 0,
  rule: "",
  event: "",
  certainty: "measured",
  explains: "",
  account: [],
  steps: { steps: [], omitted: 0 },
  flames: [],
  usage: { processors: [], disks: [], files: [] },
});
const track = (id: number, group: Track["group"], name: string): Track => ({
  id,
  group,
  section: "",
  name,
  note: "",
  kind: "slices",
  rows: 1,
  total_ns: 0,
  mark: null,
});

const basePage: Page = {
  version: "0",
  served: false,
  legend: { tones: [], groups: [], steps: [], subjects: [] },
  reading: "",
  revision: 0,
  not_shown: [],
  comparison: null,
  recordings: [
    {
      name: "a.etl",
      is_partial: false,
      machine: "",
      start_ns: -2e9,
      duration_ns: 47e9,
      beyond_axis: "",
      gaps: [],
      subjects: [],
      losses: [],
      missing: [],
      drawn: [],
      first: 0,
      folds: [],
      transitions: [
        {
          kind: "boot",
          number: 1,
          predictions: [],
          variant: "cold",
          unplaced: [],
          title: "Boot",
          headline: [],
          fix_first: "",
          start_ns: 0,
          end_ns: 40e9,
          band: null,
          ticks: [],
          still_running: [],
          findings: [],
          phases: [phase("PreSMSS", 0, 9e9), phase("SMSSInit", 9e9, 14e9)],
        },
      ],
      tracks: [
        track(0, "processors", "Processor 0"),
        track(1, "services", "Spooler"),
        track(2, "processes", "spoolsv.exe (4)"),
      ],
    },
  ],
};

beforeEach(() => {
  state.page.value = basePage;
  state.applyAddress("");
});

describe("an address", () => {
  it("restores the entire view", () => {
    state.goTo({ start: 1e9, end: 3.5e9 });
    state.selection.value = {
      kind: "slice",
      track: 1,
      start: 5,
      end: 9,
      tone: 3,
      count: 1,
      thread: 44,
      process: 0,
      label: "a~b & <c>",
    };
    state.trackFilter.value = "spool & co";
    state.pinnedTracks.value = new Set([2]);
    state.collapsedGroups.value = new Set(["processors"]);
    state.tab.value = "use";
    state.theme.value = "dark";
    const address = state.address();
    const before = [
      state.view.value,
      state.selection.value,
      state.trackFilter.value,
      [...state.pinnedTracks.value],
      state.tab.value,
      state.theme.value,
    ];
    state.applyAddress("");
    expect(state.view.value).toEqual(state.homeRange.value);
    state.applyAddress(address);
    expect([
      state.view.value,
      state.selection.value,
      state.trackFilter.value,
      [...state.pinnedTracks.value],
      state.tab.value,
      state.theme.value,
    ]).toEqual(before);
  });

  it.each([
    "range=9~1",
    "range=a~b",
    "recording=99&transition=-1",
    "slice=1~2",
    "tab=none&theme=pink",
    "pin=x~~1e9~NaN",
    "%",
    "about=__proto__&tab=__proto__&fold=__proto__",
    "range=0~1e999",
    "mark=-Infinity~Infinity",
    "slice=1~NaN~2~3~4~5~6~x",
    "chain=1~2",
    "chain=__proto__~1~2",
    "finding=constructor",
    "process=x~y",
  ])("ignores invalid values (%s)", (text) => {
    state.applyAddress(text);
    expect(state.recording.value?.name).toBe("a.etl");
    expect(state.view.value).toEqual(state.homeRange.value);
    expect(state.tab.value).toBe("what");
  });
});

describe("the view", () => {
  it("stays within the recording, including firmware times before zero", () => {
    state.moveTo({ start: -100e9, end: -90e9 });
    expect(state.view.value).toEqual({ start: -2e9, end: 8e9 });
    state.moveTo({ start: -500e9, end: 500e9 });
    expect(state.view.value).toEqual(state.entireRange.value);
    for (let step = 0; step < 200; step += 1) state.zoom(0.5, 1e9);
    expect(state.view.value.end - state.view.value.start).toBeCloseTo(1_000, 0);
  });

  it("goes back by breadcrumbs", () => {
    state.goTo({ start: 1e9, end: 2e9 });
    state.goTo({ start: 1.2e9, end: 1.3e9 });
    state.goBack();
    expect(state.view.value).toEqual({ start: 1e9, end: 2e9 });
    state.goBack();
    expect(state.view.value).toEqual(state.homeRange.value);
  });

  it("finds the phase that covers most of a range", () => {
    expect(state.phaseAt({ start: 8e9, end: 12e9 })?.name).toBe("SMSSInit");
    expect(state.phaseAt({ start: 41e9, end: 42e9 })).toBeUndefined();
  });
});

it("filters tracks by all words, puts pinned tracks first, omits collapsed groups", () => {
  const names = () => state.shownTracks.value.map((each) => each.name);
  state.pinnedTracks.value = new Set([2]);
  expect(names()).toEqual(["spoolsv.exe (4)", "Processor 0", "Spooler"]);
  state.collapsedGroups.value = new Set(["processors"]);
  expect(names()).toEqual(["spoolsv.exe (4)", "Spooler"]);
  state.trackFilter.value = "SERVICES spool";
  expect(names()).toEqual(["Spooler"]);
});

describe("the order of tracks", () => {
  const names = () => state.shownTracks.value.map((each) => each.name);
  const more: Page = {
    ...basePage,
    recordings: [
      {
        ...basePage.recordings[0]!,
        tracks: [
          track(0, "processors", "Processor 0"),
          track(1, "services", "Spooler"),
          track(2, "services", "Themes"),
          track(3, "services", "Audio"),
        ],
      },
    ],
  };

  it("changes within and between groups, and is restored from the address", () => {
    state.page.value = more;
    state.shiftTrack(3, true);
    expect(names()).toEqual(["Processor 0", "Spooler", "Audio", "Themes"]);
    state.moveTrack(3, 1);
    state.moveGroupToTop("services");
    expect(names()).toEqual(["Audio", "Spooler", "Themes", "Processor 0"]);
    // A track cannot leave its group.
    state.moveTrack(0, 1);
    expect(names()).toEqual(["Audio", "Spooler", "Themes", "Processor 0"]);
    const link = state.address();
    state.applyAddress("");
    expect(names()).toEqual(["Processor 0", "Spooler", "Themes", "Audio"]);
    state.applyAddress(link);
    expect(names()).toEqual(["Audio", "Spooler", "Themes", "Processor 0"]);
  });

  it("follows the pins for pinned tracks", () => {
    state.page.value = more;
    state.pinnedTracks.value = new Set([2, 0]);
    expect(names().slice(0, 2)).toEqual(["Themes", "Processor 0"]);
    state.shiftTrack(0, true);
    expect(names().slice(0, 2)).toEqual(["Processor 0", "Themes"]);
  });
});

describe("history", () => {
  it("undoes and redoes every change of the view", () => {
    history.recordView();
    state.trackFilter.value = "spool";
    history.recordView();
    state.goTo({ start: 1e9, end: 2e9 });
    history.undo();
    expect([state.trackFilter.value, state.view.value]).toEqual(["spool", state.homeRange.value]);
    history.undo();
    expect(state.trackFilter.value).toBe("");
    history.redo();
    history.redo();
    expect([state.trackFilter.value, state.view.value]).toEqual(["spool", { start: 1e9, end: 2e9 }]);
    history.redo();
    expect(state.trackFilter.value).toBe("spool");
  });

  it("saves views in the address", () => {
    state.savedViews.value = [];
    state.goTo({ start: 3e9, end: 4e9 });
    saveView("the ~ slow part");
    const link = state.address();
    state.applyAddress("");
    state.savedViews.value = [];
    state.applyAddress(link);
    expect(state.savedViews.value.map((each) => each.name)).toEqual(["the   slow part"]);
    state.applyAddress("");
    state.applyAddress(state.savedViews.value[0]?.address ?? "");
    expect(state.view.value).toEqual({ start: 3e9, end: 4e9 });
    deleteView("the   slow part");
    expect(state.savedViews.value).toEqual([]);
  });
});

describe("time asleep", () => {
  const night = 8 * 3_600e9;
  const asleep: Page = {
    ...basePage,
    recordings: [
      {
        ...basePage.recordings[0]!,
        start_ns: 0,
        duration_ns: 20e9 + night,
        folds: [{ start_ns: 10e9, end_ns: 10e9 + night, slept_ns: night, text: "" }],
      },
    ],
  };

  it("takes little of the axis; the rest is proportional", () => {
    state.page.value = asleep;
    state.applyAddress("");
    const all = state.entireRange.value;
    const shares = [0, 5e9, 10e9, 10e9 + night, 15e9 + night, 20e9 + night].map((time) =>
      fold.rangeFraction(time, all),
    );
    expect(shares[0]).toBeCloseTo(0);
    expect(shares[5]).toBeCloseTo(1);
    expect(shares[3]! - shares[2]!).toBeLessThan(0.07);
    expect(shares[1]! - shares[0]!).toBeCloseTo(shares[4]! - shares[3]!);
    for (const time of [0, 3e9, 10e9, 11e9, 10e9 + night / 2, 12e9 + night])
      expect(fold.timeAtFraction(fold.rangeFraction(time, all), all)).toBeCloseTo(time, -4);
    const scale = fold.pixelScale(all, 1_000);
    expect(scale(5e9)).toBeCloseTo(fold.rangeFraction(5e9, all) * 1_000);
    // No grid line inside the fold, and the number of lines is bounded.
    const lines = fold.gridTimes(all, 1e9);
    expect(lines.filter((time) => time > 10e9 && time < 10e9 + night)).toEqual([]);
    expect(lines.length).toBeGreaterThan(15);
    fold.showsFullSleep.value = true;
    expect(fold.rangeFraction(5e9, all)).toBeLessThan(0.001);
    expect(fold.gridTimes(all, 1e6).length).toBeLessThanOrEqual(1_000);
    fold.showsFullSleep.value = false;
  });

  it("is skipped when panning", () => {
    state.page.value = asleep;
    state.view.value = { start: 8e9, end: 9.9e9 };
    for (let step = 0; step < 12; step += 1) state.pan(0.5);
    expect(state.view.value.start).toBeGreaterThan(10e9 + night);
    expect(state.view.value.end).toBeLessThanOrEqual(state.entireRange.value.end + 1);
  });
});

describe("the other side of a comparison", () => {
  const transitionOf = (phases: Phase[]) => ({
    kind: "boot",
    number: 1,
    variant: "",
    title: "Boot",
    headline: [],
    fix_first: "",
    start_ns: phases[0]?.start_ns ?? 0,
    end_ns: phases[phases.length - 1]?.end_ns ?? 0,
    phases,
    unplaced: [],
    band: null,
    ticks: [],
    still_running: [],
    findings: [],
    predictions: [],
  });
  const first = basePage.recordings[0] as Page["recordings"][0];
  const before = {
    ...first,
    transitions: [transitionOf([phase("one", 0, 10e9), phase("two", 10e9, 12e9), phase("gone", 12e9, 13e9)])],
    tracks: [track(0, "services", "Audio"), track(1, "services", "Old"), track(2, "devices", "Audio")],
  };
  const after = {
    ...first,
    transitions: [
      transitionOf([phase("one", 1e9, 7e9), phase("new", 7e9, 8e9), { ...phase("two", 8e9, 13e9), idle_ns: 1e9 }]),
    ],
    tracks: [track(0, "devices", "Audio"), track(1, "services", "New"), track(2, "services", "Audio")],
  };
  const side = (name: string, recording: number | null) => ({ name, runs: [], recording, shown_run: null });
  const comparison = (sides: ReturnType<typeof side>[]) => ({
    answer: [],
    sides,
    explanations: [],
    lists: [],
    moved: [],
  });

  beforeEach(() => {
    const sides = [side("old", 0), side("new", 1)];
    state.page.value = { ...basePage, recordings: [before, after], comparison: comparison(sides) };
    state.recordingIndex.value = 1;
    state.transitionIndex.value = 0;
    state.showsPair.value = true;
  });

  it("aligns the phases that both have at their starts, and tells how much longer the shown ones are", () => {
    const aligned = pair.value?.pieces.map(({ title, start, end, phaseEnd, offset, difference }) => [
      title,
      start,
      end,
      phaseEnd,
      offset,
      difference,
    ]);
    // "one" was longer before and ends with the shown phase; "two" was shorter; "new" and "gone" have no counterpart.
    expect(aligned).toEqual([
      ["one", 1e9, 7e9, 7e9, 1e9, -4e9],
      ["two", 8e9, 10e9, 13e9, -2e9, 2e9],
    ]);
    expect(pair.value?.pieces.map((piece) => piece.continues)).toEqual([true, false]);
    expect(pair.value).toMatchObject({ side: "old", isBaseline: true, index: 0 });
  });

  it("pairs tracks of the same group, section and name, whatever their numbers", () => {
    expect([...(pair.value?.counterparts ?? [])].map(([id, other]) => [id, other.id])).toEqual([
      [0, 2],
      [2, 0],
    ]);
    expect(pair.value?.others.map((other) => other.name)).toEqual(["Old"]);
  });

  it("draws only what a range shows", () => {
    const pieces = pair.value?.pieces ?? [];
    expect(otherRange(pieces, { start: 6e9, end: 9e9 })).toEqual({ start: 5e9, end: 11e9 });
    expect(otherRange(pieces, { start: 7.2e9, end: 7.8e9 })).toBeNull();
    expect(pieces[1] && visiblePart(pieces[1], { start: 10.5e9, end: 12e9 })).toBeNull();
  });

  it("is absent without a comparison, without the file of the other side, and when hidden", () => {
    state.showsPair.value = false;
    expect(pair.value).toBeNull();
    state.showsPair.value = true;
    state.page.value = { ...state.page.value, comparison: comparison([side("old", null), side("new", 1)]) };
    expect(pair.value).toBeNull();
    state.page.value = { ...state.page.value, comparison: null };
    expect(pair.value).toBeNull();
  });

  it("is part of the address only when hidden", () => {
    expect(state.address()).not.toContain("pair");
    state.showsPair.value = false;
    const hidden = state.address();
    state.showsPair.value = true;
    state.applyAddress(hidden);
    expect(state.showsPair.value).toBe(false);
  });
});
