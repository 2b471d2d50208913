import { useText } from "../i18n/useText";

const TONES: Record<string, string> = {
  running: "good",
  requested: "busy",
  creating: "busy",
  starting: "busy",
  stopping: "busy",
  releasing: "busy",
  lost: "bad",
  failed: "bad",
};

/** Where an instance is in its life cycle. */
export function StateTag({ state }: { state: string }) {
  const { word } = useText();
  const tone = TONES[state] ?? "rest";
  return (
    <span className={`tag tag-${tone}`} data-testid="state" data-state={state}>
      <span className="dot" aria-hidden="true" />
      {word("state", state)}
    </span>
  );
}
