import { useText } from "../i18n/useText";

/** How instances are kept apart; red where they are not. */
export function Isolation({ kind }: { kind: string }) {
  const { word } = useText();
  return <span className={kind === "none" ? "tag tag-bad" : undefined}>{word("isolation", kind)}</span>;
}
