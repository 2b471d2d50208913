import type { Quotas, SetQuotas } from "../../api/types";

/** The fields of the form: texts, empty where there is no limit. */
export type QuotaFields = {
  cards_total?: string;
  instances?: string;
  storage_gib?: string;
  spend_per_day?: string;
  cards?: Record<string, string | undefined>;
};

/** What the form shows at first. */
export function fieldsOf({ quotas }: Quotas): QuotaFields {
  const text = (n: number | null | undefined) => (n == null ? "" : String(n));
  return {
    cards_total: text(quotas.cards_total),
    instances: text(quotas.instances),
    storage_gib: text(quotas.storage_gib),
    spend_per_day: quotas.spend_per_day?.amount ?? "",
    cards: Object.fromEntries(Object.entries(quotas.cards).map(([slug, most]) => [slug, String(most)])),
  };
}

/** Every quota anew: what is left empty is not limited, and zero is a limit. */
export function quotaRequest(fields: QuotaFields): SetQuotas {
  const count = (text: string | undefined) => (text?.trim() ? Number(text) : undefined);
  const cards = Object.entries(fields.cards ?? {}).flatMap(([slug, text]) => {
    const most = count(text);
    return most === undefined ? [] : [[slug, most]];
  });
  return {
    cards: Object.fromEntries(cards),
    cards_total: count(fields.cards_total),
    instances: count(fields.instances),
    storage_gib: count(fields.storage_gib),
    spend_per_day: fields.spend_per_day?.trim() || undefined,
  };
}

/** Whether the text is a whole number that a quota may be. */
export function isCount(text: string): boolean {
  return /^\d{1,9}$/.test(text.trim());
}
