import { browserZone, relativeText, shortTimeText, timeText } from "../format/time";
import { useText } from "../i18n/useText";
import { useNow } from "./useNow";

type Props = {
  at: string;
  /** IANA zone; default is the browser's. */
  zone?: string;
  short?: boolean;
  relative?: boolean;
  /** Without a title, where a tooltip says it already. */
  plain?: boolean;
};

/** A moment; the full form with its zone is always in the title. */
export function Time({ at, zone = browserZone(), short, relative, plain }: Props) {
  const { locale } = useText();
  const now = useNow(relative ? 10_000 : 3_600_000);
  const full = timeText(at, locale, zone);
  const text = relative ? relativeText(at, now, locale) : short ? shortTimeText(at, locale, zone, now) : full;
  return (
    <time dateTime={at} title={plain || text === full ? undefined : full}>
      {text}
    </time>
  );
}
