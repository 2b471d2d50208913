import { describe, expect, it } from "vitest";
import { Decoder, encode, type Frame, input, MAX_PAYLOAD } from "./frames";

const ascii = (text: string) => new TextEncoder().encode(text);

describe("frames", () => {
  it("opens a terminal with the bytes that crate link reads", () => {
    const bytes = encode({
      channel: "control",
      control: { type: "open", open: "exec", argv: ["true"], env: {}, terminal: { rows: 24, cols: 80 } },
    });
    const json = '{"type":"open","open":"exec","argv":["true"],"env":{},"terminal":{"rows":24,"cols":80}}';
    expect([...bytes.slice(0, 5)]).toEqual([3, 0, 0, 0, json.length]);
    expect(new TextDecoder().decode(bytes.slice(5))).toBe(json);
  });

  it("comes back whole however it is cut", () => {
    const frames: Frame[] = [
      { channel: "stdin", data: new Uint8Array() },
      { channel: "stdout", data: new Uint8Array(MAX_PAYLOAD).fill(7) },
      { channel: "stderr", data: ascii("no such file\n") },
      { channel: "control", control: { type: "exit", code: 3 } },
    ];
    const parts = frames.map(encode);
    const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    for (const step of [1, 3, 5, 4096, all.length]) {
      const decoder = new Decoder();
      const seen: Frame[] = [];
      // Byte by byte through 64 KiB would only be slow: the edges are where it can go wrong.
      const big = step < 4096 ? [0, 5, 6, 7, 8, 9, 10, 11, 12] : [];
      let from = 0;
      for (const cut of [
        ...big,
        ...Array.from(
          { length: Math.ceil(all.length / Math.max(step, 997)) },
          (_, i) => (i + 1) * Math.max(step, 997),
        ),
      ]) {
        const to = Math.min(cut, all.length);
        if (to > from) seen.push(...decoder.push(all.slice(from, to)));
        from = Math.max(from, to);
      }
      expect(seen).toEqual(frames);
    }
  });

  it("reads what an instance says, byte for byte", () => {
    const bytes = Uint8Array.from([
      3,
      0,
      0,
      0,
      18,
      ...ascii('{"type":"started"}'),
      1,
      0,
      0,
      0,
      2,
      0x68,
      0x69,
      3,
      0,
      0,
      0,
      24,
      ...ascii('{"type":"exit","code":0}'),
    ]);
    expect(new Decoder().push(bytes)).toEqual([
      { channel: "control", control: { type: "started" } },
      { channel: "stdout", data: Uint8Array.from([0x68, 0x69]) },
      { channel: "control", control: { type: "exit", code: 0 } },
    ]);
  });

  it("refuses hostile bytes, as the Rust side does", () => {
    for (const bad of [
      [9, 0, 0, 0, 0],
      [0, 0xff, 0, 0, 0],
      [3, 0, 0, 0, 1, 0x78],
    ]) {
      expect(() => new Decoder().push(Uint8Array.from(bad))).toThrow();
    }
  });

  it("cuts long input into frames", () => {
    const frames = input(new Uint8Array(MAX_PAYLOAD + 1));
    expect(frames.map((f) => f.length)).toEqual([MAX_PAYLOAD + 5, 6]);
    expect(() => encode({ channel: "stdin", data: new Uint8Array(MAX_PAYLOAD + 1) })).toThrow(RangeError);
  });
});
