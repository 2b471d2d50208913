import { Button } from "antd";
import { useState } from "react";
import { Link } from "react-router";
import type { Account } from "../../api/types";
import { useText } from "../../i18n/useText";
import { Amount } from "../../parts/Amount";
import { Loading } from "../../parts/Loading";
import { Page } from "../../parts/Page";
import { Panel } from "../../parts/Panel";
import { Refusal } from "../../parts/Refusal";
import { Rows } from "../../parts/Rows";
import { Time } from "../../parts/Time";
import { useAccount } from "../../session/AccountProvider";
import { NewAccount } from "./NewAccount";
import { TopUpDialog } from "./TopUpDialog";
import { useAccounts } from "./useAccounts";

/** The accounts and what is in them. */
export function AccountsPage() {
  const { t } = useText();
  const { may } = useAccount();
  const [chosen, setChosen] = useState<Account>();
  const { data, error } = useAccounts();
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  return (
    <Page title={t("accounts.title")}>
      <Panel>
        <Rows
          label={t("accounts.title")}
          testid="accounts"
          rows={data}
          id={(a) => a.id}
          empty={t("accounts.empty")}
          columns={[
            {
              id: "name",
              title: t("accounts.name"),
              cell: (a) => <Link to={`/operator/accounts/${a.id}`}>{a.name}</Link>,
            },
            {
              id: "balance",
              title: t("accounts.balance"),
              align: "right",
              cell: (a) => <Amount of={a.balance} currency={a.currency} decimals={2} />,
            },
            { id: "zone", title: t("accounts.zone"), cell: (a) => a.time_zone },
            {
              id: "since",
              title: t("accounts.since"),
              wide: true,
              cell: (a) => <Time at={a.created_at} short />,
            },
            {
              id: "id",
              title: t("accounts.id"),
              wide: true,
              cell: (a) => <span className="mono small muted">{a.id}</span>,
            },
            {
              id: "topup",
              title: <span className="hidden">{t("accounts.top-up")}</span>,
              actions: true,
              align: "right",
              cell: (a) =>
                may("top-up") && (
                  <Button
                    size="small"
                    onClick={() => setChosen(a)}
                    aria-label={`${t("accounts.top-up")}: ${a.name}`}
                  >
                    {t("accounts.top-up")}
                  </Button>
                ),
            },
          ]}
        />
      </Panel>
      {may("make-accounts") && <NewAccount />}
      {chosen && <TopUpDialog account={chosen} onClose={() => setChosen(undefined)} />}
    </Page>
  );
}
