/** Tables with copies for a spreadsheet and for a pull request. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Rows as text: tabs between cells, or a Markdown table in which nothing is taken for markup. */
export const copied = (rows: string[][], markdown: boolean) => {
  const clean = (text: string) => text.replace(/[\t\n\r]+/g, " ");
  if (!markdown) return rows.map((row) => row.map(clean).join("\t")).join("\n");
  const escaped = rows.map((row) => `| ${row.map((cell) => clean(cell).replace(/[\\|`*_<>]/g, "\\$&")).join(" | ")} |`);
  const [head, ...body] = escaped;
  return [head, `|${" --- |".repeat(rows[0]?.length ?? 0)}`, ...body].join("\n");
};

/** Buttons that copy a table. */
export function Copies({ rows }: { rows: () => string[][] }) {
  const [said, say] = useState("");
  const copy = (markdown: boolean) => {
    void navigator.clipboard
      .writeText(copied(rows(), markdown))
      .then(() => say("Copied."), () => say("The browser does not allow copying from this page."));
  };
  return (
    <>
      <button type="button" onClick={() => copy(false)}>Copy TSV</button>
      <button type="button" onClick={() => copy(true)}>Copy Markdown</button>
      <span role="status">{said}</span>
    </>
  );
}

export function Table({ title, head, rows, act }: { title: ComponentChildren; head: string[]; rows: string[][]; act?: (index: number) => void }) {
  return (
    <figure class="table">
      <figcaption>
        {title}
        <Copies rows={() => [head, ...rows]} />
      </figcaption>
      <table>
        <thead>
          <tr>{head.map((cell) => <th scope="col">{cell}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr>
              {row.map((cell, at) =>
                at === 0 && act ? (
                  <td><button type="button" class="link" onClick={() => act(index)}>{cell}</button></td>
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
