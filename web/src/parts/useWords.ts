import { useTranslation } from "react-i18next";
import { refusalWords } from "./refusalWords";

/** Reads errors out in the language that is shown. */
export function useWords() {
  const { i18n } = useTranslation();
  return (error: unknown) => refusalWords(error, i18n);
}
