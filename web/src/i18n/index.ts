import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { again } from "../shell/again";

/** The languages of the console. */
export type Language = "zh" | "en";
export const LANGUAGES: { id: Language; name: string }[] = [
  { id: "zh", name: "中文" },
  { id: "en", name: "English" },
];

const STORED = "language";

/** Only the language that is shown is fetched. */
const bundles = { zh: again(() => import("./zh")), en: again(() => import("./en")) };

/** What the user chose before, or what the browser asks for. */
export function preferred(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored === "zh" || stored === "en") return stored;
  return navigator.languages.find((l) => /^(zh|en)\b/i.test(l))?.startsWith("zh") ? "zh" : "en";
}

/** Locale of numbers and dates in a language. */
export function localeOf(language: string): string {
  return language === "zh" ? "zh-CN" : "en-GB";
}

/** Fetches a language and shows the console in it. */
export async function speak(language: Language): Promise<void> {
  const { default: words } = await bundles[language]();
  i18next.addResourceBundle(language, "translation", words, true, true);
  await i18next.changeLanguage(language);
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

/** The same, remembered for the next visit. */
export async function choose(language: Language): Promise<void> {
  localStorage.setItem(STORED, language);
  await speak(language);
}

/** Call once before anything is shown. */
export async function startLanguages(): Promise<void> {
  await i18next.use(initReactI18next).init({
    resources: {},
    lng: preferred(),
    keySeparator: false,
    nsSeparator: false,
    interpolation: { escapeValue: false },
  });
  await speak(preferred());
}
