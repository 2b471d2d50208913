import { describe, expect, it } from "vitest";
import type { Usage } from "../api/types";
import { append, EMPTY, MOST_POINTS } from "./series";

const usage = (second: number, cards: [uuid: string, util: number | null][]): Usage => ({
  at: new Date(second * 1000).toISOString(),
  cpu_milli: 0,
  cpus: 1,
  memory_used_mib: 0,
  memory_mib: 1,
  processes: 1,
  sessions: 0,
  last_active_at: "2026-01-01T00:00:00Z",
  activity: "",
  devices: cards.map(([uuid, util], index) => ({
    uuid,
    index,
    name: "T4",
    fake: false,
    memory_mib: 16_384,
    sample: { uuid, at: "2026-01-01T00:00:00Z", gpu_util_pct: util, memory_used_mib: 512, lost: false },
  })),
});

describe("series", () => {
  it("keeps the cards apart and gaps open", () => {
    let s = append(EMPTY, usage(10, [["a", 5]]));
    s = append(
      s,
      usage(12, [
        ["a", null],
        ["b", 7],
      ]),
    );
    s = append(s, usage(14, [["b", 9]]));
    expect(s.times).toEqual([10, 12, 14]);
    expect(s.cards.find((c) => c.uuid === "a")?.values.util).toEqual([5, null, null]);
    expect(s.cards.find((c) => c.uuid === "b")?.values.util).toEqual([null, 7, 9]);
    expect(s.cards.find((c) => c.uuid === "b")?.values.memory).toEqual([null, 0.5, 0.5]);
    expect(s.cards.find((c) => c.uuid === "b")?.values.power).toEqual([null, null, null]);
  });
  it("takes no reading twice", () => {
    const s = append(EMPTY, usage(10, [["a", 5]]));
    expect(append(s, usage(10, [["a", 6]]))).toBe(s);
  });
  it("forgets what is too old", () => {
    let s = EMPTY;
    for (let i = 1; i <= MOST_POINTS + 5; i++) s = append(s, usage(i, [["a", i % 100]]));
    expect(s.times.length).toBe(MOST_POINTS);
    expect(s.cards[0]?.values.util.length).toBe(MOST_POINTS);
    expect(s.times[0]).toBe(6);
  });
});
