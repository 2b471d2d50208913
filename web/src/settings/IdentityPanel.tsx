import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input } from "antd";
import { useState } from "react";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { sentence } from "../parts/refusalWords";
import { useAct } from "../parts/useAct";
import { useSite } from "../session/useSite";

const TONES = { none: "rest", pending: "busy", verified: "good", refused: "bad" };
type Fields = { full_name?: string; id_number?: string };

/** Whether the site knows who the user is, and the form that has it checked. */
export function IdentityPanel() {
  const { t, word } = useText();
  const site = useSite();
  const client = useQueryClient();
  const [url, setUrl] = useState<string | null>();
  const { data, error } = useQuery({ queryKey: ["identity"], queryFn: () => ask(api.GET("/v1/identity")) });
  const check = useAct(
    async (fields: Fields) => {
      const filled = Object.entries(fields).filter(([, text]) => text?.trim());
      const found = await ask(api.POST("/v1/identity", { body: Object.fromEntries(filled) }));
      setUrl(found.url);
      client.setQueryData(["identity"], found);
      await client.invalidateQueries({ queryKey: ["whoami"] });
    },
    { quiet: true },
  );
  if (!data || !site) return error ? <Refusal error={error} /> : <Loading />;
  const { state, message } = data;
  return (
    <Panel
      testid="identity"
      title={t("settings.identity")}
      extra={<span className={`tag tag-${TONES[state]}`}>{word("identity-state", state)}</span>}
    >
      {check.error && <Refusal error={check.error} />}
      <p>{t(site.identity_required ? "settings.identity.required" : "settings.identity.optional")}</p>
      {message && <p className="note">{sentence(message)}</p>}
      {url && (
        <p>
          <Button type="primary" href={url} rel="noreferrer">
            {t("settings.identity.go-on")}
          </Button>
        </p>
      )}
      {state === "pending" && (
        <Button loading={check.busy} onClick={() => check.run({})}>
          {t("settings.identity.again")}
        </Button>
      )}
      {(state === "none" || state === "refused") && (
        <Form layout="vertical" className="narrow identity-form" requiredMark="optional" onFinish={check.run}>
          <Form.Item name="full_name" label={t("settings.identity.name")}>
            <Input autoComplete="name" maxLength={100} />
          </Form.Item>
          <Form.Item name="id_number" label={t("settings.identity.number")}>
            <Input autoComplete="off" maxLength={64} />
          </Form.Item>
          <p className="muted small">{t("settings.identity.more")}</p>
          <Button type="primary" htmlType="submit" loading={check.busy}>
            {t("settings.identity.begin")}
          </Button>
        </Form>
      )}
    </Panel>
  );
}
