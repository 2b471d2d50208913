import { describe, expect, it } from "vitest";
import { EventParser } from "./sse";

const STREAM = 'id: 7\nevent: state-changed\ndata: {"a":1}\n\n: keep-alive\n\ndata: one\r\ndata: two\r\n\r\n';
const EVENTS = [
  { id: "7", name: "state-changed", data: '{"a":1}' },
  { id: "7", name: "message", data: "one\ntwo" },
];

describe("event stream", () => {
  it("reads named events, comments and several lines of data", () => {
    expect(new EventParser().push(STREAM)).toEqual(EVENTS);
  });
  it("does not care where the pieces are cut", () => {
    for (let step = 1; step < STREAM.length; step++) {
      const parser = new EventParser();
      const seen = [];
      for (let at = 0; at < STREAM.length; at += step) seen.push(...parser.push(STREAM.slice(at, at + step)));
      expect(seen).toEqual(EVENTS);
    }
  });
});
