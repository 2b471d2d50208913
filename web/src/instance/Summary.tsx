import { Button } from "antd";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { Instance, State } from "../api/types";
import { durationText } from "../format/time";
import { useSentence } from "../i18n/useSentence";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { CopyText } from "../parts/CopyText";
import { Facts } from "../parts/Facts";
import { Isolation } from "../parts/Isolation";
import { Panel } from "../parts/Panel";
import { Time } from "../parts/Time";
import { useNow } from "../parts/useNow";
import { useAccount } from "../session/AccountProvider";
import { DeviceList } from "./DeviceList";

/** Fetched when it is opened: a form and a dialog are much for a page that is mostly read. */
const ChangeRules = lazy(() => import("../rules/ChangeRules").then((m) => ({ default: m.ChangeRules })));

/** States in which it can be entered, now or soon. */
const COMES_UP: State[] = ["requested", "creating", "starting", "running"];

/** Cost, rules, connection and machine of an instance. */
export function Summary({ instance: i }: { instance: Instance }) {
  const { t } = useText();
  const sentence = useSentence();
  const { account, may } = useAccount();
  const [changing, setChanging] = useState(false);
  return (
    <aside className="summary" aria-label={t("instance.summary")}>
      <Panel title={t("instance.cost")} testid="cost">
        <div className="big">
          <Amount of={i.cost_so_far} decimals={4} />
        </div>
        <p className="muted small">
          <Amount of={i.rate} per="hour" /> · {t("instance.cost.more")}
        </p>
        {i.state === "running" && i.ready_at && <RunningFor since={i.ready_at} />}
      </Panel>
      <Panel title={t("instance.rules")} testid="rules">
        <ul className="plain">
          {i.rules.map((rule) => (
            <li key={rule}>{sentence(rule)}</li>
          ))}
        </ul>
        {account && may("change-instances") && i.desired !== "released" && (
          <Button size="small" onClick={() => setChanging(true)} data-testid="change-rules">
            {t("instance.rules.change")}
          </Button>
        )}
        {changing && account && (
          <Suspense fallback={null}>
            <ChangeRules
              instance={i}
              currency={account.currency}
              timeZone={account.time_zone}
              onClose={() => setChanging(false)}
            />
          </Suspense>
        )}
      </Panel>
      {COMES_UP.includes(i.state) && may("use-instances") && (
        <Panel title={t("instance.connect")}>
          <CopyText text={`suanli ssh ${i.slug}`} />
          <CopyText text={`suanli cp FILE ${i.slug}:/workspace/`} />
        </Panel>
      )}
      <Panel title={t("instance.machine")}>
        <Facts
          of={[
            ...(i.project ? ([[t("instances.project"), i.project]] as [string, ReactNode][]) : []),
            [t("instance.gpu"), `${i.count} × ${i.gpu_name}`],
            [
              t("instance.resources"),
              t("quote.machine.value", { cpus: i.cpus, memory: i.memory_gib, disk: i.disk_gib }),
            ],
            [t("instance.isolation"), i.isolation ? <Isolation key="i" kind={i.isolation} /> : "–"],
            [t("instance.created"), <Time key="c" at={i.created_at} />],
            ...(i.on_start
              ? ([
                  [t("instance.on-start"), <code key="o">{i.on_start}</code>],
                  [t("instance.on-start-exit"), i.on_start_exit ?? t("instance.on-start-runs")],
                ] as [string, ReactNode][])
              : []),
          ]}
        />
        <DeviceList devices={i.devices} />
      </Panel>
    </aside>
  );
}

function RunningFor({ since }: { since: string }) {
  const { t, locale } = useText();
  const now = useNow(1_000);
  return (
    <p className="muted small">
      {t("instance.running-for")}{" "}
      <span className="number">{durationText(now - new Date(since).getTime(), locale)}</span>
    </p>
  );
}
