/** The last `count` months up to the one that holds `now` in `zone`, newest first: `2026-11`. */
export function lastMonths(now: Date, zone: string, count: number): string[] {
  const parts = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    year: "numeric",
    month: "numeric",
  }).formatToParts(now);
  const part = (type: string) => Number(parts.find((p) => p.type === type)?.value);
  const first = part("year") * 12 + part("month") - 1;
  return Array.from({ length: count }, (_, i) => {
    const month = first - i;
    return `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`;
  });
}

/** A month for people: `November 2026`. */
export function monthText(month: string, locale: string): string {
  const [year, number] = month.split("-").map(Number);
  const middle = new Date(Date.UTC(year ?? 1970, (number ?? 1) - 1, 15));
  return new Intl.DateTimeFormat(locale, { timeZone: "UTC", year: "numeric", month: "long" }).format(middle);
}
