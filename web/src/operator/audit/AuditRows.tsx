import type { AuditEntry } from "../../api/types";
import { useText } from "../../i18n/useText";
import { Address } from "../../parts/Address";
import { Panel } from "../../parts/Panel";
import { Rows } from "../../parts/Rows";
import { Time } from "../../parts/Time";

const TONES: Record<string, string> = { done: "good", refused: "busy", failed: "bad" };

/** Entries of the audit log, newest first. */
export function AuditRows({ entries }: { entries: AuditEntry[] }) {
  const { t, word } = useText();
  return (
    <Panel>
      <Rows
        label={t("audit.title")}
        testid="audit-log"
        rows={entries}
        id={(e) => String(e.seq)}
        empty={t("audit.empty")}
        columns={[
          { id: "at", title: t("audit.at"), cell: (e) => <Time at={e.at} /> },
          {
            id: "actor",
            title: t("audit.actor"),
            cell: (e) => (
              <>
                {e.actor.name ?? e.actor.id ?? word("actor", e.actor.kind)}
                <div className="muted small">
                  {(e.actor.name ?? e.actor.id) && <>{word("actor", e.actor.kind)} · </>}
                  {e.address && <Address of={e.address} />}
                </div>
              </>
            ),
          },
          { id: "action", title: t("audit.action"), cell: (e) => <span className="mono">{e.action}</span> },
          {
            id: "object",
            title: t("audit.object"),
            cell: (e) => <span className="mono break small">{e.object ?? "–"}</span>,
          },
          {
            id: "result",
            title: t("audit.result"),
            cell: (e) => (
              <>
                <span className={`tag tag-${TONES[e.result] ?? "rest"}`}>{word("result", e.result)}</span>
                {e.code && <div className="muted small mono">{e.code}</div>}
              </>
            ),
          },
          {
            id: "more",
            title: t("audit.details"),
            cell: (e) => (
              <details className="explain">
                <summary>{t("audit.show")}</summary>
                {e.before !== undefined && <pre>{`− ${JSON.stringify(e.before, null, 1)}`}</pre>}
                {e.after !== undefined && <pre>{`+ ${JSON.stringify(e.after, null, 1)}`}</pre>}
                <div className="muted small mono break">
                  #{e.seq} {e.hash} {e.request_id}
                </div>
              </details>
            ),
          },
        ]}
      />
    </Panel>
  );
}
