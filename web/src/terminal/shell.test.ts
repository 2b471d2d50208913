import { describe, expect, it } from "vitest";
import { Decoder, encode, type Frame } from "./frames";
import { Shell, type ShellState, type Socket } from "./shell";

class FakeSocket implements Socket {
  binaryType: BinaryType = "blob";
  readyState = 1;
  closed = false;
  sent: Frame[] = [];
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  private readonly decoder = new Decoder();
  send(data: Uint8Array) {
    this.sent.push(...this.decoder.push(data));
  }
  close() {
    this.closed = true;
  }
  say(...frames: Frame[]) {
    for (const frame of frames) this.onmessage?.({ data: encode(frame).buffer } as MessageEvent);
  }
}

function open() {
  const socket = new FakeSocket();
  const states: ShellState[] = [];
  let output = "";
  const shell = new Shell(
    socket,
    { rows: 30, cols: 100 },
    {
      output: (data) => {
        output += new TextDecoder().decode(data);
      },
      state: (state) => states.push(state),
    },
  );
  socket.onopen?.({} as Event);
  return { socket, shell, states, output: () => output };
}

describe("a shell", () => {
  it("asks for the login shell in a terminal of this size", () => {
    const { socket } = open();
    expect(socket.sent[0]).toMatchObject({
      control: { type: "open", open: "exec", argv: [], terminal: { rows: 30, cols: 100 } },
    });
  });
  it("passes output on, and says how the program ended", () => {
    const { socket, states, output } = open();
    socket.say(
      { channel: "control", control: { type: "started" } },
      { channel: "stdout", data: new TextEncoder().encode("$ ") },
      { channel: "control", control: { type: "exit", code: 0 } },
    );
    socket.onclose?.({} as CloseEvent);
    expect(output()).toBe("$ ");
    expect(states).toEqual([{ is: "connecting" }, { is: "open" }, { is: "ended", code: 0 }]);
    expect(socket.closed).toBe(true);
  });
  it("sends typing and sizes", () => {
    const { socket, shell } = open();
    shell.type(new TextEncoder().encode("ls\r"));
    shell.resize({ rows: 5, cols: 20 });
    expect(socket.sent.slice(1)).toEqual([
      { channel: "stdin", data: new TextEncoder().encode("ls\r") },
      { channel: "control", control: { type: "resize", rows: 5, cols: 20 } },
    ]);
  });
  it("says that it broke, once, and with the reason where there is one", () => {
    const { socket, states } = open();
    socket.say({
      channel: "control",
      control: { type: "error", cause: "unavailable", message: "the node is away" },
    });
    socket.onclose?.({} as CloseEvent);
    expect(states.slice(1)).toEqual([{ is: "broken", message: "the node is away" }]);
    const other = open();
    other.socket.onmessage?.({ data: Uint8Array.from([9, 0, 0, 0, 0]).buffer } as MessageEvent);
    expect(other.states.slice(1)).toEqual([{ is: "broken" }]);
  });
  it("is quiet after it was hung up", () => {
    const { socket, shell, states } = open();
    shell.close();
    socket.onclose?.({} as CloseEvent);
    expect(states).toEqual([{ is: "connecting" }]);
  });
});
