import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import { useText } from "../../i18n/useText";
import { OpenInvitations } from "../../members/OpenInvitations";
import { Loading } from "../../parts/Loading";
import { Page } from "../../parts/Page";
import { Refusal } from "../../parts/Refusal";
import { useAccount } from "../../session/AccountProvider";
import { NewInvitation } from "./NewInvitation";

/** Invitations to sign up with an account of one's own. */
export function InvitationsPage() {
  const { t } = useText();
  const { may } = useAccount();
  const { data, error } = useQuery({
    queryKey: ["invitations"],
    queryFn: () => ask(api.GET("/v1/invitations")),
  });
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  return (
    <Page title={t("invitations.title")} about={t("invitations.about")}>
      {may("make-accounts") && <NewInvitation />}
      <OpenInvitations invitations={data.items} />
    </Page>
  );
}
