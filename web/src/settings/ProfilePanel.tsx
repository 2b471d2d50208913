import { Button, Segmented } from "antd";
import { Link } from "react-router";
import { api, ask } from "../api/client";
import { inBrackets, listText } from "../format/lists";
import { browserZone } from "../format/time";
import { choose, LANGUAGES } from "../i18n";
import { useText } from "../i18n/useText";
import { Facts } from "../parts/Facts";
import { Panel } from "../parts/Panel";
import { useAct } from "../parts/useAct";
import { useAccount } from "../session/AccountProvider";
import { useSite } from "../session/useSite";

/** Who the user is, and in which language he reads. */
export function ProfilePanel() {
  const { t, word, language, locale } = useText();
  const { who } = useAccount();
  const site = useSite();
  const { user } = who;
  const resend = useAct(() => ask(api.POST("/v1/email/resend")));
  return (
    <Panel title={t("settings.profile")}>
      <Facts
        of={[
          [t("identity.name"), user.name],
          [
            t("identity.email"),
            user.email ? (
              <>
                {user.email}{" "}
                {user.email_verified === false && (
                  <Button size="small" type="link" loading={resend.busy} onClick={() => resend.run()}>
                    {t("settings.resend")}
                  </Button>
                )}
              </>
            ) : (
              "–"
            ),
          ],
          [
            t("settings.identity"),
            <span key="i">
              {word("identity-state", user.identity ?? "none")}{" "}
              {site?.identity_required && user.identity !== "verified" && (
                <Link to="/settings/identity">{t("settings.identity.begin")}</Link>
              )}
            </span>,
          ],
          ...(user.operator
            ? ([[t("settings.operator-role"), word("operator-role", user.operator_role ?? "admin")]] as [
                string,
                string,
              ][])
            : []),
          [
            t("settings.accounts"),
            listText(
              who.accounts.map((a) => inBrackets(a.name, word("role", a.role), locale)),
              locale,
            ) || "–",
          ],
          [
            t("settings.language"),
            <Segmented
              key="l"
              aria-label={t("settings.language")}
              value={language}
              options={LANGUAGES.map(({ id, name }) => ({ value: id, label: name }))}
              onChange={(id) => void choose(id)}
            />,
          ],
          [
            t("settings.zone"),
            <span key="z">
              {browserZone()} <span className="muted small">{t("settings.zone.more")}</span>
            </span>,
          ],
        ]}
      />
    </Panel>
  );
}
