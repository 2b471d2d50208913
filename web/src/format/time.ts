/** The zone in which times are shown when the object has none of its own. */
export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** Date and time with the zone said: `30 Nov 2026, 22:01:05 GMT+8`. */
export function timeText(at: string, language: string, zone: string): string {
  const moment = formatter(language, zone, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(new Date(at));
  // Some languages would put the zone between date and time.
  return `${moment} ${zoneName(zone, language, new Date(at).getTime())}`;
}

/** The same for a crowded row: no seconds, no year when it is this year's. */
export function shortTimeText(at: string, language: string, zone: string, now: number): string {
  const date = new Date(at);
  const sameYear = date.getFullYear() === new Date(now).getFullYear();
  return formatter(language, zone, {
    ...(sameYear ? {} : { year: "numeric" }),
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).format(date);
}

/** Short name of a zone: `GMT+8`. */
export function zoneName(zone: string, language: string, at: number): string {
  const parts = formatter(language, zone, { timeZoneName: "short" }).formatToParts(new Date(at));
  return parts.find((p) => p.type === "timeZoneName")?.value ?? zone;
}

const SPAN_UNITS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A length of time as the server writes it, such as `1h30m`, in milliseconds. */
export function spanMs(text: string): number | undefined {
  if (!/^(\d+(ms|[dhms]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+)(ms|[dhms])/g)];
  return parts.reduce((sum, [, n, unit]) => sum + Number(n) * (SPAN_UNITS[unit as string] ?? 0), 0);
}

/** In Chinese a space stands between a number and its unit, as in the rest of the console. */
function spaced(text: string): string {
  return text.replace(/(\d)(\p{Script=Han})/gu, "$1 $2");
}

/** Days, hours, minutes and seconds, the two largest that are not zero: `2 h 5 min`. */
export function durationText(ms: number, language: string): string {
  const total = Math.max(0, Math.floor(ms / 1000));
  const units: [number, string][] = [
    [Math.floor(total / 86_400), "day"],
    [Math.floor((total % 86_400) / 3600), "hour"],
    [Math.floor((total % 3600) / 60), "minute"],
    [total % 60, "second"],
  ];
  const first = units.findIndex(([n]) => n > 0);
  const shown =
    first < 0 ? [units[3] as [number, string]] : units.slice(first, first + 2).filter(([n]) => n > 0);
  const texts = shown.map(([n, unit]) =>
    new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(n),
  );
  return spaced(texts.join(" "));
}

/** How long ago or ahead, in its largest unit: `5 minutes ago`, `in 2 days`. */
export function relativeText(at: string, now: number, language: string): string {
  const apart = Math.round((new Date(at).getTime() - now) / 1000);
  // The clocks of server and browser are never quite the same.
  const seconds = Math.abs(apart) < 5 ? 0 : apart;
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const size = Math.abs(seconds);
  const say = (length: number, unit: Intl.RelativeTimeFormatUnit) =>
    spaced(format.format(Math.trunc(seconds / length), unit));
  if (size < 60) return say(1, "second");
  if (size < 3600) return say(60, "minute");
  if (size < 2 * 86_400) return say(3600, "hour");
  return say(86_400, "day");
}

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(language: string, zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${language} ${zone} ${JSON.stringify(options)}`;
  let found = formatters.get(key);
  if (!found) {
    try {
      found = new Intl.DateTimeFormat(language, { ...options, timeZone: zone });
    } catch {
      // A zone that this browser does not know: UTC, and `zoneName` says so.
      found = new Intl.DateTimeFormat(language, { ...options, timeZone: "UTC" });
    }
    formatters.set(key, found);
  }
  return found;
}
