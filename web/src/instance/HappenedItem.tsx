import type { EventView } from "../api/types";
import { useSentence } from "../i18n/useSentence";
import { useText } from "../i18n/useText";
import { StateTag } from "../parts/StateTag";
import { Time } from "../parts/Time";

/** One thing that happened to an instance. */
export function HappenedItem({ event }: { event: EventView }) {
  const { word, has, language } = useText();
  const sentence = useSentence();
  const { state, cause } = details(event.data);
  const translated =
    language === "en"
      ? undefined
      : cause && has(`why.${cause}`)
        ? word("why", cause)
        : state && has(`state-means.${state}`)
          ? word("state-means", state)
          : undefined;
  return (
    <li>
      <Time at={event.at} />
      <div>
        {state ? <StateTag state={state} /> : <strong>{word("event", event.kind)}</strong>}
        <div className="muted">{translated ?? sentence(event.message)}</div>
      </div>
    </li>
  );
}

/** The new state and its cause, where the event is about those. */
function details(data: unknown): { state?: string; cause?: string } {
  if (typeof data !== "object" || data === null) return {};
  const { to, state, cause } = data as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return { state: text(to) ?? text(state), cause: text(cause) };
}
