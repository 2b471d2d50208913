import { ROLES } from "../api/words";
import { useText } from "../i18n/useText";
import { Facts } from "../parts/Facts";

/** What each role may do. */
export function RoleTable() {
  const { t, word } = useText();
  return (
    <details className="more">
      <summary>{t("members.roles")}</summary>
      <Facts of={ROLES.map((role) => [word("role", role), word("role-may", role)])} />
    </details>
  );
}
