import { useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { useNavigate } from "react-router";
import { api, ask } from "../api/client";
import type { InvitationPreview, WhoAmI } from "../api/types";
import { useText } from "../i18n/useText";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";

type Props = { who: WhoAmI; secret: string; invitation: InvitationPreview };

/** For somebody who is signed in already: one press instead of another user. */
export function JoinAccount({ who, secret, invitation }: Props) {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { name } = who.user;
  const join = useAct(
    async () => {
      await ask(api.POST("/v1/invitations/accept", { body: { secret } }));
      await client.invalidateQueries({ queryKey: ["whoami"] });
      await navigate("/market", { replace: true });
    },
    { quiet: true },
  );
  if (!invitation.account) return <p>{t("identity.join.other", { name })}</p>;
  return (
    <>
      {join.error && <Refusal error={join.error} />}
      <Button type="primary" block loading={join.busy} onClick={() => join.run()}>
        {t("identity.join", { name })}
      </Button>
    </>
  );
}
