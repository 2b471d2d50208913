import { useQueryClient } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import type { Invitation } from "../api/types";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { Confirm } from "../parts/Confirm";
import { Panel } from "../parts/Panel";
import { Rows } from "../parts/Rows";
import { Time } from "../parts/Time";
import { useAct } from "../parts/useAct";

/** Invitations that nobody has used yet. */
export function OpenInvitations({ invitations }: { invitations: Invitation[] }) {
  const { t, word } = useText();
  const client = useQueryClient();
  const revoke = useAct(async (id: string) => {
    await ask(api.DELETE("/v1/invitations/{id}", { params: { path: { id } } }));
    await client.invalidateQueries({ queryKey: ["members"] });
    await client.invalidateQueries({ queryKey: ["invitations"] });
  });
  return (
    <Panel title={t("members.invitations")}>
      <Rows
        label={t("members.invitations")}
        testid="invitations"
        rows={invitations}
        id={(i) => i.id}
        empty={t("members.invitations.empty")}
        columns={[
          { id: "for", title: t("members.for"), cell: (i) => i.email ?? t("members.anybody") },
          {
            id: "role",
            title: t("members.role"),
            cell: (i) =>
              i.account && i.role ? (
                word("role", i.role)
              ) : (
                <>
                  {i.account_name
                    ? t("members.own-account", { name: i.account_name })
                    : t("members.an-own-account")}
                  {i.credit && i.credit.micros > 0 && (
                    <div className="muted small">
                      <Amount of={i.credit} decimals={2} />
                    </div>
                  )}
                </>
              ),
          },
          { id: "by", title: t("members.by"), cell: (i) => i.by },
          { id: "until", title: t("members.until"), cell: (i) => <Time at={i.expires_at} short /> },
          {
            id: "revoke",
            title: <span className="hidden">{t("members.revoke")}</span>,
            actions: true,
            align: "right",
            cell: (i) => (
              <Confirm
                title={t("members.revoke.sure")}
                onConfirm={() => revoke.run(i.id)}
                button={{ size: "small" }}
              >
                {t("members.revoke")}
              </Confirm>
            ),
          },
        ]}
      />
    </Panel>
  );
}
