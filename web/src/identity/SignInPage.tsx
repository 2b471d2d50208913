import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input } from "antd";
import { useState } from "react";
import { Link, Navigate, useSearchParams } from "react-router";
import { api, ask, rememberCsrf } from "../api/client";
import { codeOf } from "../api/problem";
import { useText } from "../i18n/useText";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";
import { safeNext } from "../session/next";
import { useSession } from "../session/useSession";
import { useSite } from "../session/useSite";
import { AuthCard } from "./AuthCard";
import { providerRefusal } from "./providerRefusal";

type Fields = { user: string; password: string; code?: string };

/** Name and password, and the second factor where the user has one. */
export function SignInPage() {
  const { t, word } = useText();
  const site = useSite();
  const client = useQueryClient();
  const [query] = useSearchParams();
  const next = safeNext(query.get("next"));
  const { who } = useSession();
  const [needsCode, setNeedsCode] = useState(false);
  const signIn = useAct(
    async (fields: Fields) => {
      try {
        const done = await ask(api.POST("/v1/login", { body: { ...fields, cookie: true } }));
        rememberCsrf(done.csrf);
      } catch (error) {
        if (codeOf(error) === "second-factor-needed") return setNeedsCode(true);
        throw error;
      }
      await client.invalidateQueries({ queryKey: ["whoami"] });
    },
    { quiet: true },
  );
  const fromProvider = query.get("error");
  if (who && !fromProvider) return <Navigate to={next} replace />;
  const error = signIn.error ?? (fromProvider ? providerRefusal(fromProvider, word) : null);
  if (who) {
    // Somebody who is signed in wanted to connect a provider.
    return (
      <AuthCard title={t("identity.not-connected")}>
        <Refusal error={error} />
        <Link to="/settings/security">{t("nav.settings")}</Link>
      </AuthCard>
    );
  }
  return (
    <AuthCard
      title={t("identity.sign-in")}
      below={site && site.sign_up !== "closed" && <Link to="/sign-up">{t("identity.to-sign-up")}</Link>}
    >
      {error && <Refusal error={error} />}
      <Form<Fields> layout="vertical" requiredMark={false} onFinish={(fields) => signIn.run(fields)}>
        <Form.Item
          name="user"
          label={t("identity.user")}
          rules={[{ required: true, message: t("form.required") }]}
        >
          <Input autoComplete="username" autoCapitalize="none" autoFocus />
        </Form.Item>
        <Form.Item
          name="password"
          label={t("identity.password")}
          rules={[{ required: true, message: t("form.required") }]}
        >
          <Input.Password autoComplete="current-password" />
        </Form.Item>
        {needsCode && (
          <Form.Item
            name="code"
            label={t("identity.code")}
            extra={t("identity.code.more")}
            rules={[{ required: true, message: t("form.required") }]}
          >
            <Input autoComplete="one-time-code" inputMode="numeric" autoFocus />
          </Form.Item>
        )}
        <Button type="primary" htmlType="submit" block loading={signIn.busy}>
          {t("identity.sign-in")}
        </Button>
      </Form>
      {site?.providers.map((p) => (
        <Button
          key={p.id}
          block
          href={`/v1/oidc/${encodeURIComponent(p.id)}/start?next=${encodeURIComponent(next)}`}
        >
          {t("identity.with", { provider: p.label })}
        </Button>
      ))}
      <Link className="small" to="/reset">
        {t("identity.forgot")}
      </Link>
    </AuthCard>
  );
}
