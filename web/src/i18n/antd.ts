import type { Locale } from "antd/es/locale";
import { useEffect, useState } from "react";
import { useText } from "./useText";

const locales = {
  zh: () => import("antd/es/locale/zh_CN"),
  en: () => import("antd/es/locale/en_GB"),
};

/** The component library's own words in the language that is shown. */
export function useAntdLocale(): Locale | undefined {
  const { language } = useText();
  const [locale, setLocale] = useState<Locale>();
  useEffect(() => {
    let wanted = true;
    void locales[language]().then((module) => wanted && setLocale(module.default));
    return () => {
      wanted = false;
    };
  }, [language]);
  return locale;
}
