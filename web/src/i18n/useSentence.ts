import { useTranslation } from "react-i18next";
import { durationText, spanMs } from "../format/time";
import { sentence } from "../parts/refusalWords";
import { localeOf } from "./index";
import { looseT } from "./loose";
import { recognise } from "./sentences";

/** Says a sentence of the server in the user's language where it is known. */
export function useSentence() {
  const { i18n } = useTranslation();
  return (text: string) => {
    const known = recognise(text);
    if (!known) return sentence(text);
    const ms = spanMs(known.values.span ?? "");
    const values =
      ms === undefined ? known.values : { ...known.values, span: durationText(ms, localeOf(i18n.language)) };
    return looseT(i18n)(known.key, values);
  };
}
