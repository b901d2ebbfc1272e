import { beforeEach, describe, expect, it } from "vitest";
import type { Page, Phase, Track } from "../src/data";
import * as state from "../src/state";

const phase = (name: string, start_ns: number, end_ns: number): Phase => ({
  name, start_ns, end_ns, idle_ns: 0, rule: "", event: "", certainty: "measured", explains: "", account: [], steps: { steps: [], left_out: 0 }, flames: [], usage: { processors: [], disks: [], files: [] },
});
const track = (id: number, group: string, name: string): Track => ({ id, group, section: "", name, note: "", kind: "slices", rows: 1, total_ns: 0, mark: null });

const made: Page = {
  version: "0", served: false, comparison: null,
  recordings: [{
    name: "a.etl", machine: "", start_ns: -2e9, duration_ns: 45e9, losses: [], missing: [], drawn: [],
    transitions: [{ kind: "boot", title: "Boot", headline: [], start_ns: 0, end_ns: 40e9, band: null, ticks: [], findings: [],
      phases: [phase("PreSMSS", 0, 9e9), phase("SMSSInit", 9e9, 14e9)] }],
    tracks: [track(0, "processors", "Processor 0"), track(1, "services", "Spooler"), track(2, "processes", "spoolsv.exe (4)")],
  }],
};

beforeEach(() => {
  state.page.value = made;
  state.follow("");
});

describe("an address", () => {
  it("brings back the whole view", () => {
    state.goTo({ start: 1e9, end: 3.5e9 });
    state.selection.value = { of: "slice", track: 1, start: 5, end: 9, tone: 3, count: 1, label: "a~b & <c>" };
    state.filter.value = "spool & co";
    state.pinned.value = new Set([2]);
    state.collapsed.value = new Set(["processors"]);
    state.tab.value = "use";
    state.theme.value = "dark";
    const address = state.address();
    const before = [state.view.value, state.selection.value, state.filter.value, [...state.pinned.value], state.tab.value, state.theme.value];
    state.follow("");
    expect(state.view.value).toEqual(state.whole.value);
    state.follow(address);
    expect([state.view.value, state.selection.value, state.filter.value, [...state.pinned.value], state.tab.value, state.theme.value]).toEqual(before);
  });

  it.each(["range=9~1", "range=a~b", "recording=99&transition=-1", "slice=1~2", "tab=none&theme=pink", "pin=x~~1e9~NaN", "%"])("that is wrong (%s) does no harm", (text) => {
    state.follow(text);
    expect(state.recording.value?.name).toBe("a.etl");
    expect(state.view.value).toEqual(state.whole.value);
    expect(state.tab.value).toBe("what");
  });
});

describe("the view", () => {
  it("stays within the recording, firmware's time before zero included", () => {
    state.moveTo({ start: -100e9, end: -90e9 });
    expect(state.view.value).toEqual({ start: -2e9, end: 8e9 });
    state.moveTo({ start: -500e9, end: 500e9 });
    expect(state.view.value).toEqual(state.whole.value);
    for (let step = 0; step < 200; step += 1) state.zoom(0.5, 1e9);
    expect(state.view.value.end - state.view.value.start).toBeCloseTo(1_000, 0);
  });

  it("comes back by breadcrumbs", () => {
    state.goTo({ start: 1e9, end: 2e9 });
    state.goTo({ start: 1.2e9, end: 1.3e9 });
    state.goBack();
    expect(state.view.value).toEqual({ start: 1e9, end: 2e9 });
    state.goBack();
    expect(state.view.value).toEqual(state.whole.value);
  });

  it("knows the phase that covers most of a range", () => {
    expect(state.phaseAt({ start: 8e9, end: 12e9 })?.name).toBe("SMSSInit");
    expect(state.phaseAt({ start: 41e9, end: 42e9 })).toBeUndefined();
  });
});

it("tracks are filtered by all words, pinned ones come first, folded groups are left out", () => {
  const names = () => state.shownTracks.value.map((each) => each.name);
  state.pinned.value = new Set([2]);
  expect(names()).toEqual(["spoolsv.exe (4)", "Processor 0", "Spooler"]);
  state.collapsed.value = new Set(["processors"]);
  expect(names()).toEqual(["spoolsv.exe (4)", "Spooler"]);
  state.filter.value = "SERVICES spool";
  expect(names()).toEqual(["Spooler"]);
});
