import type { Node } from "../../api/types";
import { gib } from "../../format/amounts";
import { useSentence } from "../../i18n/useSentence";
import { useText } from "../../i18n/useText";
import { FakeTag } from "../../parts/FakeTag";
import { Isolation } from "../../parts/Isolation";
import { Panel } from "../../parts/Panel";
import { Rows } from "../../parts/Rows";
import { Time } from "../../parts/Time";

const TONES: Record<string, string> = { ready: "good", lost: "bad", cordoned: "busy", ok: "good" };

/** One machine: how it is, and a row for each card. */
export function NodePanel({ node }: { node: Node }) {
  const { t, word, locale } = useText();
  const sentence = useSentence();
  const tag = (state: string) => (
    <span className={`tag tag-${TONES[state] ?? "rest"}`}>{word("node-state", state)}</span>
  );
  const value = (v: number | null | undefined, unit: string) => (
    <span className="number">{v == null ? "–" : `${v} ${unit}`}</span>
  );
  return (
    <Panel
      testid="node"
      title={
        <span className="name-cell">
          {node.name} {tag(node.state)} {node.fake && <FakeTag />}
        </span>
      }
      extra={
        <span className="muted small">
          {t("nodes.cpus", { count: node.cpus })} ·{" "}
          {t("nodes.memory", { amount: gib(node.memory_mib, locale) })} · <Isolation kind={node.isolation} />{" "}
          · {t("nodes.heard")} <Time at={node.seen_at} relative />
        </span>
      }
    >
      {node.notices.length > 0 && (
        <ul className="plain small warn">
          {node.notices.map((notice) => (
            <li key={notice}>{sentence(notice)}</li>
          ))}
        </ul>
      )}
      <Rows
        label={t("nodes.cards-of", { node: node.name })}
        rows={node.devices}
        id={(d) => d.uuid}
        empty={t("nodes.no-cards")}
        columns={[
          {
            id: "name",
            title: t("nodes.card"),
            cell: (d) => (
              <>
                <span className="muted number">{d.index}</span> {d.name}
                <div className="muted small mono break">{d.uuid}</div>
              </>
            ),
          },
          { id: "state", title: t("nodes.state"), cell: (d) => tag(d.state) },
          {
            id: "held",
            title: t("nodes.held-by"),
            cell: (d) =>
              d.held_by ? (
                <span className="mono">{d.held_by}</span>
              ) : (
                <span className="muted">{d.state === "ok" ? t("nodes.free") : "–"}</span>
              ),
          },
          {
            id: "util",
            title: t("charts.util"),
            align: "right",
            cell: (d) => value(d.sample?.gpu_util_pct, "%"),
          },
          {
            id: "memory",
            title: t("charts.memory"),
            align: "right",
            wide: true,
            cell: (d) => (
              <span className="number">
                {d.sample?.memory_used_mib == null ? "–" : gib(d.sample.memory_used_mib, locale)}
              </span>
            ),
          },
          {
            id: "power",
            title: t("charts.power"),
            align: "right",
            wide: true,
            cell: (d) => value(d.sample?.power_mw == null ? null : Math.round(d.sample.power_mw / 1000), "W"),
          },
          {
            id: "temperature",
            title: t("charts.temperature"),
            align: "right",
            wide: true,
            cell: (d) => value(d.sample?.temperature_c, "°C"),
          },
        ]}
      />
    </Panel>
  );
}
