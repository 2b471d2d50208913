import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Page } from "../parts/Page";
import { Refusal } from "../parts/Refusal";
import { QuotaPanel } from "../quotas/QuotaPanel";
import { useAccount } from "../session/AccountProvider";
import { InviteForm } from "./InviteForm";
import { MemberRows } from "./MemberRows";
import { OpenInvitations } from "./OpenInvitations";
import { RoleTable } from "./RoleTable";

/** Who belongs to the account, and what they may do. */
export function MembersPage() {
  const { t } = useText();
  const { account, may } = useAccount();
  const mayInvite = may("manage-members");
  const id = account?.id ?? "";
  const { data, error } = useQuery({
    queryKey: ["members", id],
    enabled: account !== undefined,
    queryFn: () => ask(api.GET("/v1/accounts/{id}/members", { params: { path: { id } } })),
  });
  if (!account) return <p className="empty">{t("market.no-account")}</p>;
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  return (
    <Page title={t("members.title")} about={t("members.about", { account: account.name })}>
      <MemberRows account={id} members={data.items} />
      {mayInvite && <InviteForm account={id} />}
      {mayInvite && <OpenInvitations invitations={data.invitations} />}
      <QuotaPanel account={id} />
      <RoleTable />
    </Page>
  );
}
