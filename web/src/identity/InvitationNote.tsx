import { Alert } from "antd";
import type { InvitationPreview } from "../api/types";
import { useText } from "../i18n/useText";
import { Time } from "../parts/Time";

/** Who invited, and into what. */
export function InvitationNote({ invitation }: { invitation: InvitationPreview }) {
  const { t, word } = useText();
  const { account, by, role } = invitation;
  return (
    <Alert
      type="info"
      showIcon
      title={
        account
          ? t("identity.invited-into", { by, account, role: word("role", role) })
          : t("identity.invited", { by })
      }
      description={
        <>
          {t("identity.invited-until")} <Time at={invitation.expires_at} short />
        </>
      }
    />
  );
}
