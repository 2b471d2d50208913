import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link, useLocation } from "react-router";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Refusal } from "../parts/Refusal";
import { AuthCard } from "./AuthCard";
import { fragment } from "./fragment";

/** Where the link of a confirmation mail leads. */
export function VerifyPage() {
  const { t } = useText();
  const token = fragment(useLocation().hash);
  const client = useQueryClient();
  const verified = useQuery({
    queryKey: ["verify", token],
    enabled: token !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: () => ask(api.POST("/v1/email/verify", { body: { token: token ?? "" } })),
  });
  useEffect(() => {
    if (verified.data) void client.invalidateQueries({ queryKey: ["whoami"] });
  }, [verified.data, client]);
  if (verified.isLoading) return <Loading />;
  return (
    <AuthCard title={t("identity.verify")}>
      {verified.error && <Refusal error={verified.error} />}
      {!token && <p>{t("identity.verify.no-token")}</p>}
      {verified.data && (
        <p>
          {verified.data.state === "awaiting-approval"
            ? t("identity.verify.awaiting")
            : t("identity.verify.done")}
        </p>
      )}
      <Link to="/market">{t("identity.go-on")}</Link>
    </AuthCard>
  );
}
