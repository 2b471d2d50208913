import type { i18n } from "i18next";

/** Says keys that are put together at run time; whoever calls it has asked `exists` before. */
export function looseT(language: Pick<i18n, "t">): (key: string, values?: Record<string, string>) => string {
  return (key, values) => (language.t as unknown as (key: string, values?: object) => string)(key, values);
}
