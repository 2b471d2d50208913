import { useQueryClient } from "@tanstack/react-query";
import { Select } from "antd";
import { api, ask } from "../api/client";
import type { Member, Role } from "../api/types";
import { ROLES } from "../api/words";
import { useText } from "../i18n/useText";
import { Confirm } from "../parts/Confirm";
import { Panel } from "../parts/Panel";
import { Rows } from "../parts/Rows";
import { Time } from "../parts/Time";
import { useAct } from "../parts/useAct";
import { useAccount } from "../session/AccountProvider";

type Props = {
  account: string;
  members: Member[];
  /** With a title of its own, where the page is about more than members. */
  titled?: boolean;
};

/** The members with their roles. */
export function MemberRows({ account, members, titled }: Props) {
  const { t, word } = useText();
  const { who, may } = useAccount();
  const mayInvite = may("manage-members");
  const client = useQueryClient();
  const path = (user: string) => ({ params: { path: { id: account, user } } });
  const changed = () => client.invalidateQueries({ queryKey: ["members"] });
  const change = useAct(async ({ user, role }: { user: string; role: Role }) => {
    await ask(api.PUT("/v1/accounts/{id}/members/{user}", { ...path(user), body: { role } }));
    await changed();
  });
  const remove = useAct(async (user: string) => {
    await ask(api.DELETE("/v1/accounts/{id}/members/{user}", path(user)));
    await changed();
  });
  return (
    <Panel title={titled && t("members.title")}>
      <Rows
        label={t("members.title")}
        testid="members"
        rows={members}
        id={(m) => m.user.id}
        empty="–"
        columns={[
          {
            id: "name",
            title: t("members.name"),
            cell: (m) => (
              <>
                <strong>{m.user.name}</strong>{" "}
                {m.user.id === who.user.id && <span className="tag tag-rest">{t("members.you")}</span>}
                {m.user.email && <div className="muted small">{m.user.email}</div>}
              </>
            ),
          },
          {
            id: "role",
            title: t("members.role"),
            cell: (m) =>
              mayInvite ? (
                <Select
                  aria-label={`${t("members.role")}: ${m.user.name}`}
                  value={m.role}
                  popupMatchSelectWidth={false}
                  disabled={m.role === "owner" && !may("manage-owners")}
                  options={ROLES.map((role) => ({
                    value: role,
                    label: word("role", role),
                    disabled: role === "owner" && !may("manage-owners"),
                  }))}
                  onChange={(role) => change.run({ user: m.user.id, role })}
                />
              ) : (
                word("role", m.role)
              ),
          },
          {
            id: "since",
            title: t("members.since"),
            cell: (m) => (m.since ? <Time at={m.since} short /> : "–"),
          },
          {
            id: "remove",
            title: <span className="hidden">{t("members.remove")}</span>,
            actions: true,
            align: "right",
            cell: (m) =>
              mayInvite &&
              m.user.id !== who.user.id && (
                <Confirm
                  title={t("members.remove.sure", { name: m.user.name })}
                  about={t("members.remove.about")}
                  onConfirm={() => remove.run(m.user.id)}
                  button={{ size: "small" }}
                >
                  {t("members.remove")}
                </Confirm>
              ),
          },
        ]}
      />
    </Panel>
  );
}
