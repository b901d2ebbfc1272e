/** Table of a range, with a choice of subject, grouping, columns, and the column drawn as bars. */

import { useEffect, useState } from "preact/hooks";
import type { RangeTable } from "../data";
import { fetchTable } from "../source";
import {
  tableSubject,
  barColumn,
  eventFilter,
  groupBy,
  hiddenColumns,
  page,
  recording,
  recordingIndex,
  selectedRange,
  sortColumn,
  sortsAscending,
  toggled,
  view,
} from "../state";
import { Grid, barColumnName } from "./Grid";

/** Prefix of groups that are names of event fields. Must match `FIELD_PREFIX` in the Rust code. */
const FIELD = "field:";
/** Delay before a table is fetched again after the range or the filter changed, ms. */
const DELAY = 120;

export function Ranges() {
  const range = selectedRange() ?? view.value;
  const recorded = recording.value?.subjects ?? [];
  const subjects = page.value.legend.subjects.filter((subject) => recorded.includes(subject.name));
  const subject = subjects.find((candidate) => candidate.name === tableSubject.value) ?? subjects[0];
  const groups = groupBy.value.filter(
    (group) => subject?.groups.includes(group) || (subject?.name === "events" && group.startsWith(FIELD)),
  );
  const filter = subject?.name === "events" ? eventFilter.value : "";
  const query = `${recordingIndex.value} ${subject?.name} ${groups.join(",")} ${range.start} ${range.end} ${filter}`;
  const [skips, setSkips] = useState<{ query: string; skip: number }>({ query, skip: 0 });
  const skip = skips.query === query ? skips.skip : 0;
  const [loaded, setLoaded] = useState<{ table: RangeTable; query: string } | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    if (!subject) return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      fetchTable(range, subject.name, groups, filter, skip).then(
        (table) => isCurrent && (setLoaded({ table, query }), setError("")),
        (failure: Error) => isCurrent && setError(failure.message),
      );
    }, DELAY);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [query, skip]);
  if (!subject) return <p>This recording has no data for tables of a range.</p>;
  const table = loaded?.query.startsWith(`${recordingIndex.value} ${subject.name} `) ? loaded.table : null;
  const choose = (group: string) => {
    const isList = group === "each" || groups.includes("each") || (groups.length === 0 && subject.groups[0] === "each");
    groupBy.value = isList
      ? [group, ...(group === "each" ? groups.filter((other) => other.startsWith(FIELD)) : [])]
      : toggledGroup(group, groups.length ? groups : subject.groups.slice(0, 1));
  };
  const addField = (name: string) => {
    const group = `${FIELD}${name}`;
    const before = groups.length ? groups : subject.groups.slice(0, 1);
    groupBy.value = before.includes(group) ? before.filter((other) => other !== group) : [...before, group];
  };
  const fields = groups.filter((group) => group.startsWith(FIELD));
  return (
    <div>
      <div class="zones">
        <label>
          Subject{" "}
          <select
            value={subject.name}
            onChange={(event) => (
              (tableSubject.value = event.currentTarget.value), (sortColumn.value = ""), (barColumn.value = "")
            )}
          >
            {subjects.map((choice) => (
              <option value={choice.name}>{choice.title}</option>
            ))}
          </select>
        </label>
        {subject.name === "events" && (
          <input
            type="search"
            aria-label="Filter events"
            class="filter"
            placeholder="Filter: words, Field=value"
            title="Words that the event must contain, and fields with their values: Irp=0xFFFFFA80 Power"
            value={eventFilter.value}
            onInput={(event) => (eventFilter.value = event.currentTarget.value)}
          />
        )}
        {subject.groups.length > 0 && (
          <fieldset>
            <legend>Group by</legend>
            {subject.groups.map((group, index) => (
              <button
                type="button"
                aria-pressed={groups.includes(group) || (groups.length === 0 && index === 0)}
                onClick={() => choose(group)}
              >
                {group}
              </button>
            ))}
            {fields.map((group) => (
              <button
                type="button"
                aria-pressed="true"
                title="Remove this field"
                onClick={() => addField(group.slice(FIELD.length))}
              >
                {group.slice(FIELD.length)}
              </button>
            ))}
            {(table?.fields.length ?? 0) > 0 && (
              <select
                aria-label="Add a field"
                value=""
                onChange={(event) => event.currentTarget.value && addField(event.currentTarget.value)}
              >
                <option value="">field…</option>
                {table?.fields
                  .filter((name) => !groups.includes(`${FIELD}${name}`))
                  .map((name) => (
                    <option value={name}>{name}</option>
                  ))}
              </select>
            )}
          </fieldset>
        )}
        {table && (
          <fieldset>
            <legend>Columns</legend>
            {table.columns.slice(1).map((column) => (
              <button
                type="button"
                aria-pressed={!hiddenColumns.value.has(column.name)}
                onClick={() => (hiddenColumns.value = toggled(hiddenColumns.value, column.name))}
              >
                {column.title}
              </button>
            ))}
          </fieldset>
        )}
        {table?.columns.some((column) => column.number) && (
          <label>
            Bars{" "}
            <select value={barColumnName(table)} onChange={(event) => (barColumn.value = event.currentTarget.value)}>
              {table.columns
                .filter((column) => column.number)
                .map((column) => (
                  <option value={column.name}>{column.title}</option>
                ))}
            </select>
          </label>
        )}
      </div>
      {error && <p role="alert">{error}</p>}
      {table?.nothing ? (
        <p>{table.nothing}</p>
      ) : table ? (
        <Grid table={table} range={range} title={subject.title} onSkip={(next) => setSkips({ query, skip: next })} />
      ) : (
        !error && <p class="hint">Loading…</p>
      )}
    </div>
  );
}

/** Toggles a group. The last group cannot be removed. */
function toggledGroup(group: string, groups: string[]): string[] {
  if (!groups.includes(group)) return [...groups, group];
  const others = groups.filter((other) => other !== group);
  return others.length ? others : groups;
}

/** Sorts by a column: first from large to small, or from A to Z, then the other way, then as received. */
export function sortBy(name: string, isNumber: boolean): void {
  const first = !isNumber;
  if (sortColumn.value !== name) [sortColumn.value, sortsAscending.value] = [name, first];
  else if (sortsAscending.value === first) sortsAscending.value = !first;
  else [sortColumn.value, sortsAscending.value] = ["", false];
}
