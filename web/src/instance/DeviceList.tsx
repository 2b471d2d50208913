import type { Instance } from "../api/types";
import { useText } from "../i18n/useText";
import { FakeTag } from "../parts/FakeTag";

/** The very cards that an instance holds, by the vendor's own ids. */
export function DeviceList({ devices }: { devices: Instance["devices"] }) {
  const { t } = useText();
  if (devices.length === 0) return null;
  return (
    <ul className="plain small" aria-label={t("instance.devices")}>
      {devices.map((d) => (
        <li key={d.uuid}>
          {t("instance.device", { index: d.index })} {d.fake && <FakeTag />}
          <div className="mono muted break">{d.serial ?? d.uuid}</div>
        </li>
      ))}
    </ul>
  );
}
