import { Skeleton } from "antd";
import type { Instance } from "../api/types";
import { recognise } from "../i18n/sentences";
import { useSentence } from "../i18n/useSentence";
import { useText } from "../i18n/useText";
import { Panel } from "../parts/Panel";
import { useWhy } from "./useInstance";

/** Why the instance is not running, what happens by itself, and what would help. */
export function WhyPanel({ instance }: { instance: Instance }) {
  const { t, word, has, language } = useText();
  const sentence = useSentence();
  const { data: why } = useWhy(instance.id);
  if (!why) return <Skeleton active paragraph={{ rows: 2 }} />;
  const reason = why.reason;
  const known = reason && has(`why.${reason.code}`);
  const translate = language !== "en";
  return (
    <Panel title={t("instance.why")} testid="why">
      <p>
        {known && translate && !recognise(reason.message)
          ? word("why", reason.code)
          : reason
            ? sentence(reason.message)
            : word("state-means", instance.state)}
      </p>
      {known && translate && !recognise(reason.message) && (
        <p className="muted small" lang="en">
          {sentence(reason.message)}
        </p>
      )}
      {why.next.length > 0 && (
        <ul className="plain">
          {why.next.map((text) => (
            <li key={text}>{sentence(text)}</li>
          ))}
        </ul>
      )}
      {why.suggestions.length > 0 && (
        <>
          <h3>{t("instance.suggestions")}</h3>
          <ul className="plain">
            {why.suggestions.map((text) => (
              <li key={text}>{sentence(text)}</li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}
