import { Alert } from "antd";
import type { Instance } from "../api/types";
import { useSentence } from "../i18n/useSentence";
import { useText } from "../i18n/useText";

/** What the renter must know about where his instance runs. */
export function Notices({ instance }: { instance: Instance }) {
  const { t } = useText();
  const sentence = useSentence();
  // The node's own notice says more about its fake cards than we can.
  const fake = instance.devices.some((d) => d.fake) && !instance.notices.some((n) => n.includes("fake"));
  return (
    <>
      {instance.isolation === "none" && (
        <Alert type="error" showIcon banner title={t("instance.no-isolation")} />
      )}
      {(fake || instance.notices.length > 0) && (
        <div className="notices" data-testid="notices">
          {fake && <p>{t("instance.fake")}</p>}
          {instance.notices.map((notice) => (
            <p key={notice}>{sentence(notice)}</p>
          ))}
        </div>
      )}
    </>
  );
}
