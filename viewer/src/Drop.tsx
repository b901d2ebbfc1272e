/** The first screen of a page without a recording: choose or drop files. */

import { hasReader, notShown, openFiles, reading } from "./reader";
import { page } from "./state";

const choose = (event: { currentTarget: HTMLInputElement }) =>
  void openFiles(
    [...(event.currentTarget.files ?? [])].map((file) => ({ name: file.webkitRelativePath || file.name, file })),
  );

export function Drop() {
  if (page.value.reading)
    return (
      <main class="empty">
        <h1>onoff</h1>
        <p role="status">Reading {page.value.reading}</p>
      </main>
    );
  if (page.value.not_shown.length > 0)
    return (
      <main class="empty">
        <h1>onoff</h1>
        <NotShown />
      </main>
    );
  if (!hasReader)
    return (
      <main class="empty">
        <h1>onoff</h1>
        <p>This page contains no recording. Create a report with: onoff view FILE -o report.html</p>
      </main>
    );
  return (
    <main class="empty">
      <h1>onoff: where the time goes while a computer boots, shuts down, sleeps and wakes</h1>
      <div class="drop">
        <p>
          Drop a recording here: <code>.etl</code>, Windows event logs, a systemd journal, kernel logs, a network
          capture, FPDT, or an archive or folder of them.
        </p>
        <p class="choices">
          <label class="file">
            Choose files
            <input type="file" multiple onChange={choose} />
          </label>
          <label class="file">
            Choose a folder
            <input type="file" {...{ webkitdirectory: true }} onChange={choose} />
          </label>
        </p>
        <p class="hint">Your files stay on this computer: the page reads them itself and sends nothing.</p>
      </div>
      <p role="status">{reading.value && `Reading ${reading.value} …`}</p>
      <NotShown />
    </main>
  );
}

export function NotShown() {
  return (
    <>
      {[...page.value.not_shown, ...notShown.value].map((reason) => (
        <p class="lost" role="alert">
          {reason}
        </p>
      ))}
    </>
  );
}
