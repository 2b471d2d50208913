import type { Offer } from "../api/types";

/** What the renter looks for. */
export type Wish = { minVram: number; cards: number; freeOnly: boolean };
export const ANYTHING: Wish = { minVram: 0, cards: 1, freeOnly: false };

/** Whether an offer can be rented this moment. */
export function canRent(offer: Offer, cards = 1): boolean {
  return offer.on_demand != null && offer.largest_free_set >= cards;
}

/** The offers that fit, those that can be rented first, each part cheapest first as it came. */
export function fitting(offers: Offer[], wish: Wish): Offer[] {
  const fits = offers.filter(
    (o) =>
      o.vram_gib >= wish.minVram && o.largest_set >= wish.cards && (!wish.freeOnly || canRent(o, wish.cards)),
  );
  return [...fits.filter((o) => canRent(o, wish.cards)), ...fits.filter((o) => !canRent(o, wish.cards))];
}

/**
 * The offer to begin with: the most memory for the money among those that are free,
 * compared in whole numbers.
 */
export function recommended(offers: Offer[], wish: Wish): Offer | undefined {
  let best: Offer | undefined;
  for (const offer of offers) {
    if (!canRent(offer, wish.cards)) continue;
    if (!best || perMemory(offer, best) < 0) best = offer;
  }
  return best;
}

function perMemory(a: Offer, b: Offer): number {
  const left = BigInt(a.on_demand?.micros ?? 0) * BigInt(b.vram_gib);
  const right = BigInt(b.on_demand?.micros ?? 0) * BigInt(a.vram_gib);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Numbers of cards worth offering in one press, up to what one machine has. */
export function cardCounts(largest: number): number[] {
  const counts = [1, 2, 4, 8, 16].filter((n) => n <= largest);
  return counts.includes(largest) || largest < 1 ? counts : [...counts, largest];
}
