import { Decoder, encode, input, type Size } from "./frames";

/** How a shell is. */
export type ShellState =
  | { is: "connecting" }
  | { is: "open" }
  | { is: "ended"; code: number }
  | { is: "broken"; message?: string };

type Listener = { output(data: Uint8Array): void; state(state: ShellState): void };

/** The part of a WebSocket that a shell needs. */
export type Socket = Pick<WebSocket, "send" | "close" | "readyState" | "binaryType"> & {
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
};

/** A login shell with a terminal inside an instance. */
export class Shell {
  private readonly decoder = new Decoder();
  private over = false;

  constructor(
    private readonly socket: Socket,
    size: Size,
    private readonly listener: Listener,
  ) {
    socket.binaryType = "arraybuffer";
    listener.state({ is: "connecting" });
    socket.onopen = () => {
      const env = { TERM: "xterm-256color", COLORTERM: "truecolor" };
      this.send(
        encode({
          channel: "control",
          control: { type: "open", open: "exec", argv: [], env, terminal: size },
        }),
      );
    };
    socket.onmessage = (event) => {
      if (event.data instanceof ArrayBuffer) this.take(new Uint8Array(event.data));
    };
    socket.onclose = () => this.end({ is: "broken" });
  }

  /** Sends what was typed. */
  type(data: Uint8Array<ArrayBuffer>) {
    for (const frame of input(data)) this.send(frame);
  }

  /** Tells the program inside the new size. */
  resize(size: Size) {
    this.send(encode({ channel: "control", control: { type: "resize", ...size } }));
  }

  /** Hangs up. */
  close() {
    this.over = true;
    this.socket.close();
  }

  private take(bytes: Uint8Array) {
    try {
      for (const frame of this.decoder.push(bytes)) {
        if (frame.channel === "stdout" || frame.channel === "stderr") this.listener.output(frame.data);
        if (frame.channel !== "control") continue;
        const { control } = frame;
        if (control.type === "started") this.listener.state({ is: "open" });
        if (control.type === "exit") this.end({ is: "ended", code: control.code });
        if (control.type === "error") this.end({ is: "broken", message: control.message });
      }
    } catch {
      this.end({ is: "broken" });
    }
  }

  private end(state: ShellState) {
    if (this.over) return;
    this.over = true;
    this.listener.state(state);
    this.socket.close();
  }

  private send(frame: Uint8Array<ArrayBuffer>) {
    // 1 is OPEN; what is typed before or after would throw.
    if (this.socket.readyState === 1) this.socket.send(frame);
  }
}
