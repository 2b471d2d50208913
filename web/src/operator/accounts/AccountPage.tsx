import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { api, ask } from "../../api/client";
import { NotFoundPage } from "../../app/NotFoundPage";
import { useText } from "../../i18n/useText";
import { MemberRows } from "../../members/MemberRows";
import { Amount } from "../../parts/Amount";
import { CopyText } from "../../parts/CopyText";
import { Facts } from "../../parts/Facts";
import { Loading } from "../../parts/Loading";
import { Page } from "../../parts/Page";
import { Panel } from "../../parts/Panel";
import { Refusal } from "../../parts/Refusal";
import { Time } from "../../parts/Time";
import { QuotaRows } from "../../quotas/QuotaRows";
import { useQuotas } from "../../quotas/useQuotas";
import { useAccount } from "../../session/AccountProvider";
import { QuotaForm } from "./QuotaForm";
import { TopUpDialog } from "./TopUpDialog";
import { useAccounts } from "./useAccounts";

/** One account as operators see it: its money, its quotas and who belongs to it. */
export function AccountPage() {
  const { t } = useText();
  const { id = "" } = useParams();
  const { may } = useAccount();
  const [topsUp, setTopsUp] = useState(false);
  const [changes, setChanges] = useState(false);
  const accounts = useAccounts();
  const quotas = useQuotas(id);
  const members = useQuery({
    queryKey: ["members", id],
    queryFn: () => ask(api.GET("/v1/accounts/{id}/members", { params: { path: { id } } })),
  });
  const error = accounts.error ?? quotas.error ?? members.error;
  if (!accounts.data) return error ? <Refusal error={error} /> : <Loading />;
  const account = accounts.data.find((a) => a.id === id);
  if (!account) return <NotFoundPage />;
  return (
    <Page
      title={account.name}
      about={<Link to="/operator/accounts">{t("accounts.all")}</Link>}
      actions={
        may("top-up") && (
          <Button type="primary" onClick={() => setTopsUp(true)}>
            {t("accounts.top-up")}
          </Button>
        )
      }
    >
      {error && <Refusal error={error} />}
      <Panel title={t("shell.account")}>
        <Facts
          of={[
            [t("accounts.balance"), <Amount key="b" of={account.balance} currency={account.currency} />],
            [t("accounts.zone"), account.time_zone],
            [t("accounts.since"), <Time key="s" at={account.created_at} />],
            [t("accounts.id"), <CopyText key="i" text={account.id} label={t("accounts.id")} />],
          ]}
        />
      </Panel>
      {quotas.data && (
        <Panel
          title={t("quotas.title")}
          extra={
            may("set-quotas") &&
            !changes && (
              <Button data-testid="change-quotas" onClick={() => setChanges(true)}>
                {t("quotas.change")}
              </Button>
            )
          }
        >
          {changes && <QuotaForm account={account} quotas={quotas.data} onClose={() => setChanges(false)} />}
          <QuotaRows of={quotas.data} currency={account.currency} />
        </Panel>
      )}
      {members.data && <MemberRows account={id} members={members.data.items} titled />}
      {topsUp && <TopUpDialog account={account} onClose={() => setTopsUp(false)} />}
    </Page>
  );
}
