import { describe, expect, it } from "vitest";
import type { Offer } from "../api/types";
import { ANYTHING, cardCounts, fitting, recommended } from "./choice";

const offer = (gpu: string, vram_gib: number, price: number | null, free: number, set = 8): Offer => ({
  gpu,
  name: gpu,
  vram_gib,
  free,
  total: set,
  largest_free_set: free,
  largest_set: set,
  isolation: "container",
  fake: false,
  demonstration_price: false,
  on_demand: price === null ? null : { amount: String(price / 1e6), micros: price },
  cpus: 8,
  memory_gib: 32,
  disk_gib: 50,
});

const offers = [
  offer("t4", 16, 900_000, 0),
  offer("4090", 24, 1_800_000, 3),
  offer("a100", 80, 5_500_000, 8),
  offer("unpriced", 141, null, 8),
];

describe("choosing a card", () => {
  it("recommends the most memory for the money that is free and priced", () => {
    expect(recommended(offers, ANYTHING)?.gpu).toBe("a100");
    expect(recommended(offers.slice(0, 2), ANYTHING)?.gpu).toBe("4090");
    expect(recommended([offers[0] as Offer, offers[3] as Offer], ANYTHING)).toBeUndefined();
  });
  it("shows what can be rented first and keeps the order by price", () => {
    expect(fitting(offers, ANYTHING).map((o) => o.gpu)).toEqual(["4090", "a100", "t4", "unpriced"]);
    expect(fitting(offers, { ...ANYTHING, minVram: 80 }).map((o) => o.gpu)).toEqual(["a100", "unpriced"]);
    expect(fitting(offers, { ...ANYTHING, cards: 4, freeOnly: true }).map((o) => o.gpu)).toEqual(["a100"]);
  });
  it("offers round numbers of cards and the largest", () => {
    expect(cardCounts(8)).toEqual([1, 2, 4, 8]);
    expect(cardCounts(6)).toEqual([1, 2, 4, 6]);
    expect(cardCounts(1)).toEqual([1]);
    expect(cardCounts(0)).toEqual([]);
  });
});
