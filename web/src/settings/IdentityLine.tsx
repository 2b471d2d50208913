import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { sentence } from "../parts/refusalWords";
import { useAct } from "../parts/useAct";

/** Whether the site knows who the user is, and the way to have it checked. */
export function IdentityLine() {
  const { t, word } = useText();
  const client = useQueryClient();
  const { data } = useQuery({ queryKey: ["identity"], queryFn: () => ask(api.GET("/v1/identity")) });
  const begin = useAct(async () => {
    client.setQueryData(["identity"], await ask(api.POST("/v1/identity", { body: {} })));
    await client.invalidateQueries({ queryKey: ["whoami"] });
  });
  if (!data) return "–";
  return (
    <>
      {word("identity-state", data.state)}{" "}
      {(data.state === "none" || data.state === "refused") && (
        <Button size="small" loading={begin.busy} onClick={() => begin.run()}>
          {t("settings.identity.begin")}
        </Button>
      )}
      {data.url && (
        <a href={data.url} rel="noreferrer">
          {t("settings.identity.go-on")}
        </a>
      )}
      {data.message && <div className="muted small">{sentence(data.message)}</div>}
    </>
  );
}
