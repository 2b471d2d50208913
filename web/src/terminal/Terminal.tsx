import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import { Button } from "antd";
import { useEffect, useRef, useState } from "react";
import { useText } from "../i18n/useText";
import { sentence } from "../parts/refusalWords";
import { Shell, type ShellState } from "./shell";

const LOOK = {
  fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace',
  fontSize: 13,
  cursorBlink: true,
  scrollback: 5_000,
  // Read out what is on the screen.
  screenReaderMode: true,
  theme: { background: "#101615", foreground: "#dbe5e1", cursor: "#4fc4af", selectionBackground: "#2f5049" },
};

/** A shell inside an instance, in xterm.js. Default export: it is fetched on demand. */
export default function Terminal({ id }: { id: string }) {
  const { t } = useText();
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<ShellState>({ is: "connecting" });
  const [run, setRun] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `run` opens another shell
  useEffect(() => {
    if (!box.current) return;
    const screen = new Xterm(LOOK);
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.open(box.current);
    fit.fit();
    const scheme = window.location.protocol === "https:" ? "wss" : "ws";
    const address = `${scheme}://${window.location.host}/v1/instances/${encodeURIComponent(id)}/stream`;
    const size = () => ({ rows: screen.rows, cols: screen.cols });
    const shell = new Shell(new WebSocket(address), size(), {
      output: (data) => screen.write(data),
      state: (now) => {
        setState(now);
        if (now.is === "open") screen.focus();
      },
    });
    const encoder = new TextEncoder();
    screen.onData((text) => shell.type(encoder.encode(text)));
    screen.onBinary((text) => shell.type(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    screen.onResize(() => shell.resize(size()));
    const observer = new ResizeObserver(() => {
      // A hidden tab has no size; fitting to it would make a terminal of one column.
      if (box.current && box.current.offsetParent !== null) fit.fit();
    });
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      shell.close();
      screen.dispose();
    };
  }, [id, run]);

  return (
    <div className="terminal" data-testid="terminal" data-state={state.is}>
      <div ref={box} className="terminal-box" role="application" aria-label={t("terminal.label")} />
      <div className="terminal-foot" role="status">
        {state.is === "connecting" && t("terminal.connecting")}
        {state.is === "open" && <span className="muted">{t("terminal.open")}</span>}
        {state.is === "ended" && t("terminal.ended", { code: state.code })}
        {state.is === "broken" && (state.message ? sentence(state.message) : t("terminal.broken"))}
        {(state.is === "ended" || state.is === "broken") && (
          <Button size="small" onClick={() => setRun((n) => n + 1)}>
            {t("terminal.again")}
          </Button>
        )}
      </div>
    </div>
  );
}
