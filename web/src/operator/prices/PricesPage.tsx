import { useQuery, useQueryClient } from "@tanstack/react-query";
import { App, Button, Input } from "antd";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { useText } from "../../i18n/useText";
import { Confirm } from "../../parts/Confirm";
import { Loading } from "../../parts/Loading";
import { Page } from "../../parts/Page";
import { Refusal } from "../../parts/Refusal";
import { Time } from "../../parts/Time";
import { useAct } from "../../parts/useAct";
import { useAccount } from "../../session/AccountProvider";
import { Findings } from "./Findings";
import { useLint } from "./useLint";

/** The price book as text, checked while it is written. */
export function PricesPage() {
  const { t } = useText();
  const { may } = useAccount();
  const { message } = App.useApp();
  const client = useQueryClient();
  const { data: book, error } = useQuery({ queryKey: ["prices"], queryFn: () => ask(api.GET("/v1/prices")) });
  const [draft, setDraft] = useState<string>();
  const text = draft ?? book?.text ?? "";
  const changed = draft !== undefined && draft !== book?.text;
  const lint = useLint(changed ? text : undefined);
  const load = useAct(
    async () => {
      const now = await ask(api.PUT("/v1/prices", { body: { text } }));
      client.setQueryData(["prices"], now);
      setDraft(undefined);
      void message.success(t("prices.loaded"));
      await client.invalidateQueries({ queryKey: ["offers"] });
    },
    { quiet: true },
  );
  if (!book) return error ? <Refusal error={error} /> : <Loading />;
  const errors = changed ? lint?.errors : [];
  return (
    <Page
      title={t("prices.title")}
      about={
        <>
          {t("prices.version")} <code>{book.version}</code> · {t("prices.since")} <Time at={book.loaded_at} />
        </>
      }
      actions={
        changed && (
          <>
            <Button onClick={() => setDraft(undefined)}>{t("prices.discard")}</Button>
            {may("load-prices") && (
              <Confirm
                title={t("prices.load.sure")}
                about={t("prices.load.about")}
                onConfirm={() => load.run()}
                button={{ type: "primary", loading: load.busy, disabled: !errors || errors.length > 0 }}
              >
                {t("prices.load")}
              </Confirm>
            )}
          </>
        )
      }
    >
      {load.error && <Refusal error={load.error} />}
      <div className="split">
        <Input.TextArea
          aria-label={t("prices.title")}
          className="mono editor"
          spellCheck={false}
          value={text}
          readOnly={!may("check-prices")}
          onChange={(e) => setDraft(e.target.value)}
        />
        <Findings errors={errors} warnings={changed ? lint?.warnings : book.warnings} />
      </div>
    </Page>
  );
}
