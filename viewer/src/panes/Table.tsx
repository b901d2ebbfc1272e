/** Tables that can be copied as TSV or Markdown. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Formats rows as tab-separated text or as a Markdown table with escaped markup. */
export const tableText = (rows: string[][], markdown: boolean) => {
  const clean = (text: string) => text.replace(/[\t\n\r]+/g, " ");
  if (!markdown) return rows.map((row) => row.map(clean).join("\t")).join("\n");
  const escaped = rows.map((row) => `| ${row.map((cell) => clean(cell).replace(/[\\|`*_<>]/g, "\\$&")).join(" | ")} |`);
  const [head, ...body] = escaped;
  return [head, `|${" --- |".repeat(rows[0]?.length ?? 0)}`, ...body].join("\n");
};

/** Buttons that copy rows as shown; with `raw`, also as numbers in their base units. */
export function CopyButtons({ rows, raw }: { rows: () => string[][]; raw?: (() => string[][]) | undefined }) {
  const [status, setStatus] = useState("");
  const copy = (content: string[][], markdown: boolean) => {
    void navigator.clipboard.writeText(tableText(content, markdown)).then(
      () => setStatus("Copied."),
      () => setStatus("The browser blocked clipboard access."),
    );
  };
  return (
    <>
      <button type="button" onClick={() => copy(rows(), false)}>
        Copy TSV
      </button>
      <button type="button" onClick={() => copy(rows(), true)}>
        Copy Markdown
      </button>
      {raw && (
        <button
          type="button"
          title="Times in ns, sizes in bytes, names of columns as in CSV"
          onClick={() => copy(raw(), false)}
        >
          Copy numbers
        </button>
      )}
      <span role="status">{status}</span>
    </>
  );
}

/** A cell: text, or a number in base units with its text. */
export type Cell = string | { text: string; number: number };

const cellText = (cell: Cell | undefined): string => (typeof cell === "object" ? cell.text : (cell ?? ""));
const rawText = (cell: Cell | undefined): string => (typeof cell === "object" ? String(cell.number) : (cell ?? ""));

/** Compares two cells of a column. */
function compare(one: Cell | undefined, other: Cell | undefined): number {
  if (typeof one === "object" && typeof other === "object") return one.number - other.number;
  // Cells without a number come last.
  if (typeof one === "object" || typeof other === "object") return typeof one === "object" ? 1 : -1;
  return (one ?? "").localeCompare(other ?? "", undefined, { numeric: true });
}

/** A table that a click on a heading sorts: numbers from large to small first, text from A to Z. */
export function Table({
  title,
  head,
  rows,
  onSelect,
}: {
  title: ComponentChildren;
  head: string[];
  rows: Cell[][];
  onSelect?: (index: number) => void;
}) {
  const [order, setOrder] = useState<{ column: number; sign: 1 | -1 } | null>(null);
  const isNumber = (column: number) => rows.some((row) => typeof row[column] === "object");
  const sort = (column: number) => {
    const first = isNumber(column) ? -1 : 1;
    if (order?.column !== column) setOrder({ column, sign: first });
    else setOrder(order.sign === first ? { column, sign: first === 1 ? -1 : 1 } : null);
  };
  const shown = rows.map((row, index) => ({ row, index }));
  if (order) shown.sort((a, b) => order.sign * compare(a.row[order.column], b.row[order.column]));
  const copied = (text: (cell: Cell | undefined) => string) => () => [head, ...shown.map(({ row }) => row.map(text))];
  return (
    <figure class="table">
      <figcaption>
        {title}
        <CopyButtons
          rows={copied(cellText)}
          raw={head.some((_, column) => isNumber(column)) ? copied(rawText) : undefined}
        />
      </figcaption>
      <table>
        <thead>
          <tr>
            {head.map((name, column) => (
              <th
                scope="col"
                class={isNumber(column) ? "number" : ""}
                aria-sort={order?.column !== column ? "none" : order.sign > 0 ? "ascending" : "descending"}
              >
                <button type="button" class="link" onClick={() => sort(column)}>
                  {name}
                  {order?.column !== column ? "" : order.sign > 0 ? " ↑" : " ↓"}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(({ row, index }) => (
            <tr>
              {row.map((cell, column) => (
                <td class={isNumber(column) ? "number" : ""}>
                  {column === 0 && onSelect ? (
                    <button type="button" class="link" onClick={() => onSelect(index)}>
                      {cellText(cell)}
                    </button>
                  ) : (
                    cellText(cell)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
