import { useTranslation } from "react-i18next";
import { localeOf } from "./index";
import { looseT } from "./loose";

/** Words and the locale of numbers and dates; `has` says whether a key exists. */
export function useText() {
  const { t, i18n } = useTranslation();
  return {
    t,
    locale: localeOf(i18n.language),
    language: i18n.language === "zh" ? ("zh" as const) : ("en" as const),
    /** A word that may be unknown to this console, such as a code of a newer server. */
    word: (prefix: string, name: string) => {
      const key = `${prefix}.${name}`;
      return i18n.exists(key) ? looseT(i18n)(key) : name;
    },
    has: (key: string) => i18n.exists(key),
  };
}
