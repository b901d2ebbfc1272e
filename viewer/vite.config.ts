import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

/**
 * Puts everything into one file, with a Content-Security-Policy that allows its own script and style by hash. The same file is
 * served and written by `onoff view -o`, and can neither run nor load anything else.
 */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("no index.html in the bundle");
      let html = String(page.source);
      const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
      const scripts: string[] = [];
      const styles: string[] = [];
      let inline = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          const code = file.code.replaceAll("</script", "<\\/script").trim();
          scripts.push(hash(code));
          inline += `<script type="module">${code}</script>`;
          delete bundle[name];
        } else if (name.endsWith(".css")) {
          const css = String(file.source).trim();
          styles.push(hash(css));
          html = html.replace("<!-- style -->", () => `<style>${css}</style>`);
          delete bundle[name];
        }
      }
      html = html.replace(/<(script type="module"|link rel="(stylesheet|modulepreload)")[^>]*>(<\/script>)?/g, "");
      html = html.replace("<!-- script -->", () => inline);
      const policy = [
        "default-src 'none'",
        `script-src ${scripts.join(" ")}`,
        `style-src ${styles.join(" ")} 'unsafe-hashes'`,
        "style-src-attr 'unsafe-inline'",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      html = html.replace("<!-- policy -->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`);
      page.source = html.replace(/\n\s*\n+/g, "\n");
    },
  };
}

export default defineConfig({
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  plugins: [oneFile()],
});
