import { useTranslation } from "react-i18next";
import { sentence } from "../parts/refusalWords";
import { looseT } from "./loose";
import { recognise } from "./sentences";

/** Says a sentence of the server in the user's language where it is known. */
export function useSentence() {
  const { i18n } = useTranslation();
  return (text: string) => {
    const known = recognise(text);
    return known ? looseT(i18n)(known.key, known.values) : sentence(text);
  };
}
