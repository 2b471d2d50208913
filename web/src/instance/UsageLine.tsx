import type { Usage } from "../api/types";
import { gib, number } from "../format/amounts";
import { useText } from "../i18n/useText";
import { Time } from "../parts/Time";

/** CPU, memory and the last activity, which is what the idle rule looks at. */
export function UsageLine({ usage: u }: { usage: Usage }) {
  const { t, locale } = useText();
  return (
    <dl className="usage" data-testid="usage">
      <div>
        <dt>{t("charts.cpu")}</dt>
        <dd className="number">
          {number(u.cpu_milli / 1000, locale, 2)} / {u.cpus}
        </dd>
      </div>
      <div>
        <dt>{t("charts.ram")}</dt>
        <dd className="number">
          {gib(u.memory_used_mib, locale)} / {gib(u.memory_mib, locale)}
        </dd>
      </div>
      <div>
        <dt>{t("charts.processes")}</dt>
        <dd className="number">{u.processes}</dd>
      </div>
      <div>
        <dt>{t("charts.active")}</dt>
        <dd>
          <Time at={u.last_active_at} relative />
        </dd>
      </div>
    </dl>
  );
}
