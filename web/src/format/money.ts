/**
 * A decimal amount from the server for people, by text alone: a float would
 * invent digits. At least two decimals, no more than the amount has.
 */
export function amountText(amount: string, language: string): string {
  const match = /^(-?)(\d+)(?:\.(\d*))?$/.exec(amount.trim());
  if (!match) return amount;
  const [, sign, whole = "0", rest = ""] = match;
  const decimals = rest.replace(/0+$/, "").padEnd(2, "0");
  const group = separators(language);
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, group.thousands);
  return `${sign ? "−" : ""}${grouped}${group.decimal}${decimals}`;
}

/** The same with the currency's sign in front: `¥1.80`; a code where there is no sign. */
export function moneyText(amount: string, currency: string, language: string): string {
  const text = amountText(amount, language);
  const sign = currencySign(currency, language);
  const gap = /^[\p{L}]{2,}$/u.test(sign) ? " " : "";
  return text.startsWith("−") ? `−${sign}${gap}${text.slice(1)}` : `${sign}${gap}${text}`;
}

/** Rounded half-up to `decimals` places, still as text; the full amount belongs into a tooltip. */
export function rounded(amount: string, decimals: number): string {
  const match = /^(-?)(\d+)(?:\.(\d*))?$/.exec(amount.trim());
  if (!match) return amount;
  const [, sign = "", whole = "0", rest = ""] = match;
  if (rest.length <= decimals) return amount;
  const scaled = BigInt(whole + rest.slice(0, decimals)) + (rest.charAt(decimals) >= "5" ? 1n : 0n);
  const digits = scaled.toString().padStart(decimals + 1, "0");
  const head = digits.slice(0, digits.length - decimals);
  const tail = digits.slice(digits.length - decimals);
  const text = decimals > 0 ? `${head}.${tail}` : head;
  return scaled === 0n ? text : sign + text;
}

/** Whether the text is a positive amount that the server will take. */
export function isAmount(text: string): boolean {
  return /^\d{1,12}(\.\d{1,6})?$/.test(text.trim()) && /[1-9]/.test(text);
}

function separators(language: string) {
  const parts = new Intl.NumberFormat(language).formatToParts(1_234.5);
  const part = (type: string) => parts.find((p) => p.type === type)?.value;
  return { thousands: part("group") ?? "", decimal: part("decimal") ?? "." };
}

function currencySign(currency: string, language: string): string {
  try {
    const format = new Intl.NumberFormat(language, {
      style: "currency",
      currency,
      currencyDisplay: "narrowSymbol",
    });
    return format.formatToParts(0).find((p) => p.type === "currency")?.value ?? currency;
  } catch {
    // Not a code that this browser knows, such as a site's own points.
    return currency;
  }
}
