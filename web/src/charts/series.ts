import type { Usage } from "../api/types";

/** Points that a chart keeps: ten minutes at one every two seconds. */
export const MOST_POINTS = 300;

/** What is drawn of each card. */
export const MEASURES = ["util", "memory", "power", "temperature"] as const;
export type Measure = (typeof MEASURES)[number];

/** Times in seconds since 1970, and for each card one value a time; `null` where the vendor does not tell. */
export type Series = {
  times: number[];
  cards: { uuid: string; index: number; values: Record<Measure, (number | null)[]> }[];
};

export const EMPTY: Series = { times: [], cards: [] };

/** The series with one more reading; the same series when the reading is not newer. */
export function append(series: Series, usage: Usage): Series {
  const time = new Date(usage.at).getTime() / 1000;
  const last = series.times.at(-1);
  if (last !== undefined && time <= last) return series;
  const before = series.times.length;
  const times = [...series.times, time].slice(-MOST_POINTS);
  const uuids = new Set([...series.cards.map((c) => c.uuid), ...usage.devices.map((d) => d.uuid)]);
  const cards = [...uuids].map((uuid) => {
    const old = series.cards.find((c) => c.uuid === uuid);
    const device = usage.devices.find((d) => d.uuid === uuid);
    const now = device ? reading(device) : { util: null, memory: null, power: null, temperature: null };
    const values = {} as Record<Measure, (number | null)[]>;
    for (const measure of MEASURES) {
      const past = old?.values[measure] ?? new Array<null>(before).fill(null);
      values[measure] = [...past, now[measure]].slice(-MOST_POINTS);
    }
    return { uuid, index: device?.index ?? old?.index ?? 0, values };
  });
  return { times, cards: cards.sort((a, b) => a.index - b.index) };
}

function reading(device: Usage["devices"][number]): Record<Measure, number | null> {
  const s = device.sample;
  return {
    util: s?.gpu_util_pct ?? null,
    memory: s?.memory_used_mib == null ? null : s.memory_used_mib / 1024,
    power: s?.power_mw == null ? null : s.power_mw / 1000,
    temperature: s?.temperature_c ?? null,
  };
}
