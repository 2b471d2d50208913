import { Button } from "antd";
import { useText } from "../i18n/useText";
import { Panel } from "../parts/Panel";
import { Rows } from "../parts/Rows";
import { useAccount } from "../session/AccountProvider";
import { useSite } from "../session/useSite";

const BACK = encodeURIComponent("/settings/security");

/** Where else the user can sign in, and the way to connect one more. */
export function ProvidersPanel() {
  const { t } = useText();
  const { who } = useAccount();
  const providers = useSite()?.providers ?? [];
  if (providers.length === 0) return null;
  return (
    <Panel
      title={t("settings.providers")}
      extra={<span className="muted small">{t("settings.providers.about")}</span>}
    >
      <Rows
        label={t("settings.providers")}
        testid="providers"
        rows={providers}
        id={(p) => p.id}
        empty="–"
        columns={[
          { id: "name", title: t("settings.provider"), cell: (p) => <strong>{p.label}</strong> },
          {
            id: "connect",
            title: <span className="hidden">{t("settings.provider.connect")}</span>,
            actions: true,
            align: "right",
            cell: (p) =>
              who.providers?.includes(p.id) ? (
                <span className="tag tag-good">{t("settings.provider.connected")}</span>
              ) : (
                <Button
                  size="small"
                  href={`/v1/oidc/${encodeURIComponent(p.id)}/start?next=${BACK}`}
                  aria-label={`${t("settings.provider.connect")}: ${p.label}`}
                >
                  {t("settings.provider.connect")}
                </Button>
              ),
          },
        ]}
      />
    </Panel>
  );
}
