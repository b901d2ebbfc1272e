/** Table of a range, with a choice of subject, grouping, columns, and the column drawn as bars. */

import { useEffect, useState } from "preact/hooks";
import type { RangeTable } from "../data";
import { fetchTable } from "../source";
import { tableSubject, barColumn, goTo, groupBy, hiddenColumns, markedRange, page, recording, selectedRange, sortColumn, toggled, view } from "../state";
import { duration } from "../time";
import { CopyButtons } from "./Table";

export function Ranges() {
  const range = selectedRange() ?? view.value;
  const subject = page.value.legend.subjects.find((candidate) => candidate.name === tableSubject.value) ?? { name: tableSubject.value, title: tableSubject.value, groups: [] as string[] };
  const groups = groupBy.value.filter((group) => subject.groups.includes(group));
  const key = groups.join(",");
  const [table, setTable] = useState<RangeTable | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      fetchTable(range, tableSubject.value, groups).then(
        (answer) => current && (setTable(answer), setError("")),
        () => current && setError("No response from onoff."),
      );
    }, 80);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [range.start, range.end, tableSubject.value, key, recording.value]);
  return (
    <div>
      <div class="zones">
        <label>Subject{" "}
          <select value={tableSubject.value} onChange={(event) => ((tableSubject.value = event.currentTarget.value), (sortColumn.value = ""), (barColumn.value = ""))}>
            {page.value.legend.subjects.map((choice) => <option value={choice.name}>{choice.title}</option>)}
          </select>
        </label>
        {subject.groups.length > 0 && (
          <fieldset>
            <legend>Group by</legend>
            {subject.groups.map((group, index) => (
              <button type="button" aria-pressed={groups.includes(group) || (groups.length === 0 && index === 0)} onClick={() => (groupBy.value = group === "each" || groups.includes("each") || (groups.length === 0 && subject.groups[0] === "each") ? [group] : toggledGroup(group, groups.length ? groups : subject.groups.slice(0, 1)))}>{group}</button>
            ))}
          </fieldset>
        )}
        {table && (
          <fieldset>
            <legend>Columns</legend>
            {table.columns.filter((column) => column.number).map((column) => (
              <button type="button" aria-pressed={!hiddenColumns.value.has(column.name)} onClick={() => (hiddenColumns.value = toggled(hiddenColumns.value, column.name))}>{column.title}</button>
            ))}
          </fieldset>
        )}
        {table && (
          <label>Bars{" "}
            <select value={barColumnName(table)} onChange={(event) => (barColumn.value = event.currentTarget.value)}>
              {table.columns.filter((column) => column.number).map((column) => <option value={column.name}>{column.title}</option>)}
            </select>
          </label>
        )}
      </div>
      {error && <p>{error}</p>}
      {table?.nothing ? <p>{table.nothing}</p> : table ? <Grid table={table} range={range} title={subject.title} /> : <p class="hint">Loading…</p>}
    </div>
  );
}

/** Toggles a group. The last group cannot be removed. */
function toggledGroup(group: string, groups: string[]): string[] {
  if (!groups.includes(group)) return [...groups, group];
  const others = groups.filter((other) => other !== group);
  return others.length ? others : groups;
}

/** Column drawn as bars: the selected column, or the first column with times or bytes. */
function barColumnName(table: RangeTable): string {
  const numbers = table.columns.filter((column) => column.number);
  return (numbers.find((column) => column.name === barColumn.value) ?? numbers.find((column) => /_ns$|^ns$|bytes/.test(column.name)) ?? numbers[0])?.name ?? "";
}

function Grid({ table, range, title }: { table: RangeTable; range: { start: number; end: number }; title: string }) {
  const shown = table.columns.map((column, index) => ({ ...column, index })).filter((column) => !column.number || !hiddenColumns.value.has(column.name));
  const order = table.rows.map((_, index) => index);
  const sortIndex = table.columns.findIndex((column) => column.name === sortColumn.value);
  if (sortIndex >= 0) {
    const isNumber = table.columns[sortIndex]?.number;
    order.sort((a, b) => (isNumber ? (table.numbers[b]?.[sortIndex] ?? -Infinity) - (table.numbers[a]?.[sortIndex] ?? -Infinity) : (table.rows[a]?.[sortIndex] ?? "").localeCompare(table.rows[b]?.[sortIndex] ?? "")));
  }
  const barIndex = table.columns.findIndex((column) => column.name === barColumnName(table));
  const largest = Math.max(...table.numbers.map((row) => Math.abs(row[barIndex] ?? 0)), 1e-9);
  const text = () => [shown.map((column) => column.title), ...order.map((row) => shown.map((column) => table.rows[row]?.[column.index] ?? ""))];
  const show = (row: number) => {
    const span = table.spans[row];
    if (!span) return;
    const [start, end] = span;
    markedRange.value = { start, end };
    goTo({ start: start - (end - start) * 0.3, end: end + (end - start) * 0.3 });
  };
  return (
    <figure class="table">
      <figcaption>
        {title}, {duration(range.start)} to {duration(range.end)} ({duration(range.end - range.start)}){table.of > table.rows.length ? `: first ${table.rows.length} of ${table.of}` : ""}
        {table.omitted && <small>{table.omitted}</small>}
        <CopyButtons rows={text} />
      </figcaption>
      <table class="grid">
        <thead>
          <tr>
            {shown.map((column) => (
              <th scope="col" class={column.number ? "number" : ""} aria-sort={sortColumn.value === column.name ? (column.number ? "descending" : "ascending") : "none"}>
                <button type="button" class="link" onClick={() => (sortColumn.value = sortColumn.value === column.name ? "" : column.name)}>{column.title}</button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {order.map((row) => (
            <tr>
              {shown.map((column, position) => {
                const cell = table.rows[row]?.[column.index] ?? "";
                const share = column.index === barIndex ? Math.abs(table.numbers[row]?.[column.index] ?? 0) / largest : 0;
                return (
                  <td class={column.number ? "number" : ""}>
                    {share > 0 && <i class="amount" style={{ width: `${share * 100}%` }} />}
                    {position === 0 && table.spans[row] ? <button type="button" class="link" onClick={() => show(row)}>{cell}</button> : <span>{cell}</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
