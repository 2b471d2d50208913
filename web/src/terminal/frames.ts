/**
 * Frames of a stream into an instance: one byte of channel, four bytes of length
 * (big endian), the payload. The same as crate `link`, `frame.rs`.
 */

/** Longest payload of one frame, bytes. */
export const MAX_PAYLOAD = 64 * 1024;
const HEADER = 5;

export type Size = { rows: number; cols: number };

/** What the console asks a stream to be. */
export type Exec = { argv: string[]; env?: Record<string, string>; cwd?: string; terminal?: Size };

export type Control =
  | ({ type: "open"; open: "exec" } & Exec)
  | ({ type: "resize" } & Size)
  | { type: "signal"; number: number }
  | { type: "started" }
  | { type: "exit"; code: number }
  | { type: "error"; cause: string; message: string };

export type Frame =
  | { channel: "stdin" | "stdout" | "stderr"; data: Uint8Array<ArrayBuffer> }
  | { channel: "control"; control: Control };

const CHANNELS = ["stdin", "stdout", "stderr", "control"] as const;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The bytes of a frame. Throws for a payload above {@link MAX_PAYLOAD}. */
export function encode(frame: Frame): Uint8Array<ArrayBuffer> {
  const payload = frame.channel === "control" ? encoder.encode(JSON.stringify(frame.control)) : frame.data;
  if (payload.length > MAX_PAYLOAD) throw new RangeError("frame too long");
  const bytes = new Uint8Array(HEADER + payload.length);
  bytes[0] = CHANNELS.indexOf(frame.channel);
  new DataView(bytes.buffer).setUint32(1, payload.length);
  bytes.set(payload, HEADER);
  return bytes;
}

/** Input of any length as frames of a size that the other side takes. */
export function input(data: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const frames = [];
  for (let from = 0; from < data.length; from += MAX_PAYLOAD) {
    frames.push(encode({ channel: "stdin", data: data.slice(from, from + MAX_PAYLOAD) }));
  }
  return frames;
}

/** Collects bytes as they arrive and gives out whole frames. */
export class Decoder {
  private rest = new Uint8Array(0);

  /** The frames that are complete now. Throws when the stream cannot be understood any more. */
  push(bytes: Uint8Array): Frame[] {
    const all = new Uint8Array(this.rest.length + bytes.length);
    all.set(this.rest);
    all.set(bytes, this.rest.length);
    const view = new DataView(all.buffer);
    const frames: Frame[] = [];
    let at = 0;
    while (all.length - at >= HEADER) {
      const channel = CHANNELS[view.getUint8(at)];
      const length = view.getUint32(at + 1);
      if (channel === undefined) throw new Error("unknown channel");
      if (length > MAX_PAYLOAD) throw new Error("frame too long");
      if (all.length - at < HEADER + length) break;
      const payload = all.slice(at + HEADER, at + HEADER + length);
      at += HEADER + length;
      frames.push(
        channel === "control"
          ? { channel, control: JSON.parse(decoder.decode(payload)) as Control }
          : { channel, data: payload },
      );
    }
    this.rest = all.slice(at);
    return frames;
  }
}
