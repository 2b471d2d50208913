import type { UserRow } from "../../api/types";
import { inBrackets, listText } from "../../format/lists";
import { useText } from "../../i18n/useText";
import { Panel } from "../../parts/Panel";
import { Rows } from "../../parts/Rows";
import { Time } from "../../parts/Time";
import { UserActions } from "./UserActions";

const TONES: Record<string, string> = { active: "good", disabled: "bad" };

type Props = { users: UserRow[]; onPassword: (user: string, secret: string) => void };

/** Users with state, role and accounts. */
export function UserRows({ users, onPassword }: Props) {
  const { t, word, locale } = useText();
  return (
    <Panel>
      <Rows
        label={t("users.title")}
        testid="users"
        rows={users}
        id={(u) => u.id}
        empty={t("users.empty")}
        columns={[
          {
            id: "name",
            title: t("users.name"),
            cell: (u) => (
              <>
                <strong>{u.name}</strong>
                {u.email && <div className="muted small">{u.email}</div>}
              </>
            ),
          },
          {
            id: "state",
            title: t("users.state"),
            cell: (u) => (
              <span className={`tag tag-${TONES[u.state] ?? "busy"}`}>{word("user-state", u.state)}</span>
            ),
          },
          {
            id: "accounts",
            title: t("users.accounts"),
            cell: (u) =>
              listText(
                u.accounts.map((a) => inBrackets(a.name, word("role", a.role), locale)),
                locale,
              ) || "–",
          },
          {
            id: "role",
            title: t("users.operator-role"),
            cell: (u) => (u.operator_role ? word("operator-role", u.operator_role) : "–"),
          },
          {
            id: "identity",
            title: t("settings.identity"),
            wide: true,
            cell: (u) => word("identity-state", u.identity),
          },
          {
            id: "seen",
            title: t("users.seen"),
            wide: true,
            cell: (u) => (u.last_seen_at ? <Time at={u.last_seen_at} relative /> : "–"),
          },
          {
            id: "actions",
            title: <span className="hidden">{t("users.actions")}</span>,
            actions: true,
            align: "right",
            cell: (u) => <UserActions user={u} onPassword={(secret) => onPassword(u.name, secret)} />,
          },
        ]}
      />
    </Panel>
  );
}
