import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { Confirm } from "../parts/Confirm";
import { Loading } from "../parts/Loading";
import { OnceSecret } from "../parts/OnceSecret";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { Rows } from "../parts/Rows";
import { Time } from "../parts/Time";
import { useAct } from "../parts/useAct";
import { useAccount } from "../session/AccountProvider";
import { TokenForm } from "./TokenForm";

/** Tokens for programs, with the scopes that they may use. */
export function TokensPanel() {
  const { t, word } = useText();
  const { who } = useAccount();
  const client = useQueryClient();
  const [secret, setSecret] = useState<string>();
  const { data, error } = useQuery({ queryKey: ["tokens"], queryFn: () => ask(api.GET("/v1/tokens")) });
  const changed = () => client.invalidateQueries({ queryKey: ["tokens"] });
  const revoke = useAct(async (id: string) => {
    await ask(api.DELETE("/v1/tokens/{id}", { params: { path: { id } } }));
    await changed();
  });
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  const account = (id: string | null | undefined) =>
    who.accounts.find((a) => a.id === id)?.name ?? t("settings.token.all-accounts");
  return (
    <>
      {secret && <OnceSecret title={t("settings.token.secret")} secret={secret} />}
      <Panel title={t("settings.tokens")}>
        <Rows
          label={t("settings.tokens")}
          testid="tokens"
          rows={data.items}
          id={(token) => token.id}
          empty={t("settings.tokens.empty")}
          columns={[
            {
              id: "name",
              title: t("settings.token.name"),
              cell: (token) => (
                <>
                  <strong>{token.name}</strong>
                  <div className="muted small">{account(token.account)}</div>
                </>
              ),
            },
            {
              id: "scopes",
              title: t("settings.token.scopes"),
              cell: (token) => token.scopes.map((scope) => word("scope", scope)).join(" · "),
            },
            {
              id: "expires",
              title: t("settings.token.expires"),
              cell: (token) => <Time at={token.expires_at} short />,
            },
            {
              id: "used",
              title: t("settings.last-used"),
              wide: true,
              cell: (token) =>
                token.last_used_at ? <Time at={token.last_used_at} relative /> : t("settings.never-used"),
            },
            {
              id: "revoke",
              title: <span className="hidden">{t("settings.token.revoke")}</span>,
              actions: true,
              align: "right",
              cell: (token) => (
                <Confirm
                  title={t("settings.token.revoke.sure", { name: token.name })}
                  about={t("settings.token.revoke.about")}
                  onConfirm={() => revoke.run(token.id)}
                  button={{ size: "small" }}
                >
                  {t("settings.token.revoke")}
                </Confirm>
              ),
            },
          ]}
        />
      </Panel>
      <TokenForm
        onMade={(token) => {
          setSecret(token);
          void changed();
        }}
      />
    </>
  );
}
