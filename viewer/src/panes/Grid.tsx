/** The rows of a range table. Only visible rows are in the document, so that any number of rows scrolls. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { RangeTable } from "../data";
import { barColumn, goTo, hiddenColumns, markedRange, sortColumn, sortsAscending } from "../state";
import { duration } from "../time";
import { sortBy } from "./Ranges";
import { CopyButtons } from "./Table";

/** Number of rows before only the visible ones are drawn, their height in pixels, and rows drawn beyond both edges. */
const ALL_ROWS = 200;
const ROW = 21;
const SPARE = 30;

/** Column drawn as bars: the selected column, or the first column with times or bytes. */
export function barColumnName(table: RangeTable): string {
  const numbers = table.columns.filter((column) => column.number);
  return (
    (
      numbers.find((column) => column.name === barColumn.value) ??
      numbers.find((column) => /^ns$|cpu_ns|service_ns|duration_ns|bytes|^events$/.test(column.name)) ??
      numbers.find((column) => /_ns$/.test(column.name) && !/^time|^start|^first|^last/.test(column.name)) ??
      numbers[0]
    )?.name ?? ""
  );
}

/** Order of the rows: as received, or by a column. */
function sorted(table: RangeTable): number[] {
  const order = table.rows.map((_, index) => index);
  const index = table.columns.findIndex((column) => column.name === sortColumn.value);
  if (index < 0) return order;
  const sign = sortsAscending.value ? 1 : -1;
  const isNumber = table.columns[index]?.number;
  return order.sort((a, b) => {
    if (!isNumber)
      return (
        sign * (table.rows[a]?.[index] ?? "").localeCompare(table.rows[b]?.[index] ?? "", undefined, { numeric: true })
      );
    const [one, other] = [table.numbers[a]?.[index] ?? null, table.numbers[b]?.[index] ?? null];
    // Rows without a number come last in both directions.
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return sign * (one - other);
  });
}

export function Grid({
  table,
  range,
  title,
  onSkip,
}: {
  table: RangeTable;
  range: { start: number; end: number };
  title: string;
  onSkip: (skip: number) => void;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [window, setWindow] = useState({ first: 0, last: ALL_ROWS });
  const shown = table.columns
    .map((column, index) => ({ ...column, index }))
    .filter((column) => column.index === 0 || !hiddenColumns.value.has(column.name));
  const order = sorted(table);
  const isLong = order.length > ALL_ROWS;
  useEffect(() => {
    const pane = body.current?.closest(".pane");
    if (!pane || !isLong) return undefined;
    const measure = () => {
      const top = pane.getBoundingClientRect().top - (body.current?.getBoundingClientRect().top ?? 0);
      const first = Math.max(0, Math.floor(top / ROW) - SPARE);
      setWindow({ first, last: first + Math.ceil(pane.clientHeight / ROW) + 2 * SPARE });
    };
    measure();
    pane.addEventListener("scroll", measure);
    return () => pane.removeEventListener("scroll", measure);
  }, [isLong, table]);
  const [first, last] = isLong
    ? [Math.min(window.first, order.length), Math.min(window.last, order.length)]
    : [0, order.length];
  const barIndex = table.columns.findIndex((column) => column.name === barColumnName(table));
  const largest = table.numbers.reduce((most, row) => Math.max(most, Math.abs(row[barIndex] ?? 0)), 1e-9);
  const text = () => [
    shown.map((column) => column.title),
    ...order.map((row) => shown.map((column) => table.rows[row]?.[column.index] ?? "")),
  ];
  const raw = () => [
    shown.map((column) => column.name),
    ...order.map((row) =>
      shown.map((column) =>
        column.number ? String(table.numbers[row]?.[column.index] ?? "") : (table.rows[row]?.[column.index] ?? ""),
      ),
    ),
  ];
  const show = (row: number) => {
    const span = table.spans[row];
    if (!span) return;
    const [start, end] = span;
    const margin = Math.max((end - start) * 0.3, end === start ? (range.end - range.start) / 200 : 0);
    markedRange.value = { start, end: Math.max(end, start + 1) };
    goTo({ start: start - margin, end: end + margin });
  };
  const end = table.skipped + table.rows.length;
  const isPart = table.skipped > 0 || table.of > end;
  return (
    <figure class="table">
      <figcaption>
        {title}, {duration(range.start)} to {duration(range.end)} ({duration(range.end - range.start)})
        {isPart
          ? `: rows ${table.skipped + 1} to ${end} of ${table.of}`
          : `: ${table.of} row${table.of === 1 ? "" : "s"}`}
        {table.skipped > 0 && (
          <button type="button" onClick={() => onSkip(Math.max(0, table.skipped - table.rows.length))}>
            Previous rows
          </button>
        )}
        {table.of > end && table.rows.length > 0 && (
          <button type="button" onClick={() => onSkip(end)}>
            Next rows
          </button>
        )}
        {table.omitted && <small>{table.omitted}</small>}
        <CopyButtons rows={text} raw={raw} />
      </figcaption>
      <table class={isLong ? "grid long" : "grid"} aria-rowcount={order.length + 1}>
        <thead>
          <tr>
            {shown.map((column) => (
              <th
                scope="col"
                class={column.number ? "number" : ""}
                aria-sort={
                  sortColumn.value === column.name ? (sortsAscending.value ? "ascending" : "descending") : "none"
                }
              >
                <button type="button" class="link" onClick={() => sortBy(column.name, column.number)}>
                  {column.title}
                  {sortColumn.value === column.name ? (sortsAscending.value ? " ↑" : " ↓") : ""}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {first > 0 && <tr aria-hidden="true" style={{ height: `${first * ROW}px` }} />}
          {order.slice(first, last).map((row, position) => (
            <tr aria-rowindex={first + position + 2}>
              {shown.map((column, number) => {
                const cell = table.rows[row]?.[column.index] ?? "";
                const share =
                  column.index === barIndex ? Math.abs(table.numbers[row]?.[column.index] ?? 0) / largest : 0;
                return (
                  <td class={column.number ? "number" : ""} title={isLong ? cell : undefined}>
                    {share > 0 && <i class="amount" style={{ width: `${share * 100}%` }} />}
                    {number === 0 && table.spans[row] ? (
                      <button type="button" class="link" onClick={() => show(row)}>
                        {cell}
                      </button>
                    ) : (
                      <span>{cell}</span>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
          {last < order.length && <tr aria-hidden="true" style={{ height: `${(order.length - last) * ROW}px` }} />}
        </tbody>
      </table>
    </figure>
  );
}
