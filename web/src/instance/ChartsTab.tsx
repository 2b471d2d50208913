import { lazy, Suspense, useEffect, useState } from "react";
import { useDark } from "../app/theme";
import { append, EMPTY, MEASURES, type Measure } from "../charts/series";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Refusal } from "../parts/Refusal";
import { again } from "../shell/again";
import { UsageLine } from "./UsageLine";
import { useUsage } from "./useInstance";

const LiveChart = lazy(again(() => import("../charts/LiveChart")));
const UNITS: Record<Measure, string> = { util: "%", memory: "GiB", power: "W", temperature: "°C" };

/** What the cards do now, from the moment this was opened. */
export function ChartsTab({ id, running }: { id: string; running: boolean }) {
  const { t } = useText();
  const dark = useDark();
  const { data: usage, error } = useUsage(id, running);
  const [series, setSeries] = useState(EMPTY);
  useEffect(() => {
    if (usage) setSeries((now) => append(now, usage));
  }, [usage]);
  if (!running) return <p className="empty">{t("charts.not-running")}</p>;
  if (error && !usage) return <Refusal error={error} />;
  if (!usage || series.times.length === 0) return <Loading />;
  const most: Partial<Record<Measure, number>> = {
    util: 100,
    memory: Math.max(...usage.devices.map((d) => d.memory_mib)) / 1024,
  };
  return (
    <>
      <UsageLine usage={usage} />
      <Suspense fallback={<Loading />}>
        <div className="charts" data-testid="charts">
          {MEASURES.map((measure) => (
            <LiveChart
              key={measure}
              title={t(`charts.${measure}`)}
              unit={UNITS[measure]}
              times={series.times}
              lines={series.cards.map((c) => ({
                label: t("instance.device", { index: c.index }),
                values: c.values[measure],
              }))}
              most={most[measure]}
              dark={dark}
            />
          ))}
        </div>
      </Suspense>
      <p className="muted small">{t("charts.since-opened")}</p>
    </>
  );
}
