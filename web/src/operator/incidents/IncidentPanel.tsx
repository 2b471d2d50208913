import { useQueryClient } from "@tanstack/react-query";
import { Button, Input } from "antd";
import { type ReactNode, useState } from "react";
import { api, ask } from "../../api/client";
import type { Incident } from "../../api/types";
import { useSentence } from "../../i18n/useSentence";
import { useText } from "../../i18n/useText";
import { Facts } from "../../parts/Facts";
import { Panel } from "../../parts/Panel";
import { Time } from "../../parts/Time";
import { useAct } from "../../parts/useAct";
import { useAccount } from "../../session/AccountProvider";

/** One incident, and the way to close it with a note. */
export function IncidentPanel({ incident: i }: { incident: Incident }) {
  const { t, word } = useText();
  const sentence = useSentence();
  const { may } = useAccount();
  const client = useQueryClient();
  const [note, setNote] = useState("");
  const close = useAct(async () => {
    const body = note.trim() ? { note: note.trim() } : {};
    await ask(api.POST("/v1/incidents/{id}/close", { params: { path: { id: i.id } }, body }));
    await client.invalidateQueries({ queryKey: ["incidents"] });
  });
  return (
    <Panel
      testid="incident"
      title={
        <span className="name-cell">
          {word("incident", i.kind)}
          <span className={`tag ${i.closed_at ? "tag-rest" : "tag-bad"}`}>
            {i.closed_at ? t("incidents.closed") : t("incidents.open")}
          </span>
        </span>
      }
      extra={<Time at={i.opened_at} />}
    >
      <p>{sentence(i.detail)}</p>
      <Facts
        of={[
          [t("incidents.action"), sentence(i.action)],
          [t("incidents.owner"), word("incident-owner", i.owner)],
          [
            t("incidents.subject"),
            <span key="s" className="mono break">
              {i.subject}
            </span>,
          ],
          ...(i.closed_at
            ? ([[t("incidents.over"), <Time key="c" at={i.closed_at} />]] as [string, ReactNode][])
            : []),
        ]}
      />
      {!i.closed_at && may("close-incidents") && (
        <div className="in-line close-form">
          <Input
            aria-label={t("incidents.note")}
            placeholder={t("incidents.note")}
            value={note}
            maxLength={500}
            onChange={(e) => setNote(e.target.value)}
          />
          <Button loading={close.busy} onClick={() => close.run()}>
            {t("incidents.close")}
          </Button>
        </div>
      )}
    </Panel>
  );
}
