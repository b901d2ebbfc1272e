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
export function CopyButtons({ rows, raw }: { rows: () => string[][]; raw?: () => string[][] }) {
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

export function Table({
  title,
  head,
  rows,
  onSelect,
}: {
  title: ComponentChildren;
  head: string[];
  rows: string[][];
  onSelect?: (index: number) => void;
}) {
  return (
    <figure class="table">
      <figcaption>
        {title}
        <CopyButtons rows={() => [head, ...rows]} />
      </figcaption>
      <table>
        <thead>
          <tr>
            {head.map((cell) => (
              <th scope="col">{cell}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr>
              {row.map((cell, column) =>
                column === 0 && onSelect ? (
                  <td>
                    <button type="button" class="link" onClick={() => onSelect(index)}>
                      {cell}
                    </button>
                  </td>
                ) : (
                  <td>{cell}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
