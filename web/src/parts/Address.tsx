import { useText } from "../i18n/useText";

/** From where somebody came, as the server writes it. */
const LOCAL = "this machine";

/** An address of the network; the server's own machine has a name instead. */
export function Address({ of }: { of: string }) {
  const { t } = useText();
  return of === LOCAL ? <span>{t("shell.this-machine")}</span> : <span className="mono">{of}</span>;
}
