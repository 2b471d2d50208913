import type { i18n } from "i18next";
import { codeOf, Refused } from "../api/problem";
import { looseT } from "../i18n/loose";

/** What to show of an error. `original` is the server's own sentence where a translation stands before it. */
export type Words = { text: string; hint: string | undefined; original: string | undefined };

/**
 * An error in the language of the user. The server writes English and knows the
 * particulars, so English users get its words; others get the translation of the
 * stable code, with the server's sentence kept for the particulars.
 */
export function refusalWords(error: unknown, language: Pick<i18n, "t" | "exists" | "language">): Words {
  const code = codeOf(error);
  const say = (key: string) => (language.exists(key) ? looseT(language)(key) : undefined);
  const translated = say(`cause.${code}`);
  const translatedHint = say(`hint.${code}`);
  if (!(error instanceof Refused)) {
    return { text: translated ?? String(error), hint: translatedHint, original: undefined };
  }
  if (language.language === "en" || translated === undefined) {
    return { text: sentence(error.message), hint: error.hint && sentence(error.hint), original: undefined };
  }
  return { text: translated, hint: translatedHint ?? undefined, original: sentence(error.message) };
}

/** The server's sentences begin small and end open. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const begun = /^[a-z][a-z]/.test(trimmed) ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
  return /[.!?。！？:…]$/.test(begun) ? begun : `${begun}.`;
}
