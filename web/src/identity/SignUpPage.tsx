import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Alert } from "antd";
import { useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import { api, ask, rememberCsrf } from "../api/client";
import type { SignedUp } from "../api/types";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";
import { useSession } from "../session/useSession";
import { useSite } from "../session/useSite";
import { AuthCard } from "./AuthCard";
import { fragment } from "./fragment";
import { InvitationNote } from "./InvitationNote";
import { JoinAccount } from "./JoinAccount";
import { type SignUpFields, SignUpForm } from "./SignUpForm";

/** A new user, with the invitation whose secret is behind `#`, or without one where the site allows it. */
export function SignUpPage() {
  const { t, language } = useText();
  const site = useSite();
  const { hash } = useLocation();
  const invitation = fragment(hash);
  const { who } = useSession();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [state, setState] = useState<SignedUp["state"]>();
  const preview = useQuery({
    queryKey: ["invitation", invitation],
    enabled: invitation !== undefined,
    queryFn: () =>
      ask(api.GET("/v1/invitations/{secret}/preview", { params: { path: { secret: invitation ?? "" } } })),
  });
  const signUp = useAct(
    async (fields: SignUpFields) => {
      const done = await ask(
        api.POST("/v1/signup", { body: { ...fields, invitation, language, cookie: true } }),
      );
      if (done.state !== "ready") return setState(done.state);
      rememberCsrf(done.csrf);
      await client.invalidateQueries({ queryKey: ["whoami"] });
      await navigate("/market", { replace: true });
    },
    { quiet: true },
  );

  const below = <Link to="/sign-in">{t("identity.to-sign-in")}</Link>;
  if (!site || preview.isLoading) return <Loading />;
  if (state) {
    return (
      <AuthCard title={t(`identity.signed-up.${state}`)} below={below}>
        <p>{t(`identity.signed-up.${state}.more`)}</p>
      </AuthCard>
    );
  }
  if (who && invitation && preview.data) {
    return (
      <AuthCard title={t("members.invite.join")}>
        <InvitationNote invitation={preview.data} />
        <JoinAccount who={who} secret={invitation} invitation={preview.data} />
        <Link to="/market">{t("shell.to-market")}</Link>
      </AuthCard>
    );
  }
  const open = site.sign_up === "email" || preview.data !== undefined;
  return (
    <AuthCard title={t("identity.sign-up")} below={below}>
      {preview.error && <Alert type="error" showIcon title={t("identity.bad-invitation")} />}
      {preview.data && <InvitationNote invitation={preview.data} />}
      {!open && !invitation && (
        <p>{t(`identity.sign-up.${site.sign_up === "closed" ? "closed" : "invitation"}`)}</p>
      )}
      {open && (
        <>
          {signUp.error && <Refusal error={signUp.error} />}
          <SignUpForm
            email={preview.data?.email ?? undefined}
            needsEmail={site.sign_up === "email"}
            busy={signUp.busy}
            onDone={signUp.run}
          />
        </>
      )}
      {open && site.approval && <p className="muted small">{t("identity.approval")}</p>}
    </AuthCard>
  );
}
