import { useQueryClient } from "@tanstack/react-query";
import { Alert, Button, Form, Input } from "antd";
import { useState } from "react";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { CopyText } from "../parts/CopyText";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";
import { useAccount } from "../session/AccountProvider";
import { QrCode } from "./QrCode";
import { TotpRemove } from "./TotpRemove";

/** A second factor by an authenticator app: set up, confirmed, or taken away. */
export function TotpPanel() {
  const { t } = useText();
  const { who } = useAccount();
  const client = useQueryClient();
  const [fresh, setFresh] = useState<{ secret: string; uri: string }>();
  const [codes, setCodes] = useState<string[]>();
  const begin = useAct(async () => setFresh(await ask(api.POST("/v1/totp"))), { quiet: true });
  const confirm = useAct(
    async (body: { code: string }) => {
      const done = await ask(api.POST("/v1/totp/confirm", { body }));
      setCodes(done.recovery_codes);
      setFresh(undefined);
      await client.invalidateQueries({ queryKey: ["whoami"] });
    },
    { quiet: true },
  );
  const error = confirm.error ?? begin.error;
  return (
    <Panel title={t("settings.totp")} testid="totp">
      {error && <Refusal error={error} />}
      {codes && (
        <Alert
          type="warning"
          showIcon
          title={t("settings.totp.codes")}
          description={
            <>
              <p>{t("settings.totp.codes.more")}</p>
              <CopyText text={codes.join("  ")} label={t("settings.totp.codes")} />
            </>
          }
        />
      )}
      {who.user.totp ? (
        <TotpRemove />
      ) : fresh ? (
        <div className="totp">
          <QrCode text={fresh.uri} label={t("settings.totp.qr")} />
          <div className="grow">
            <p>{t("settings.totp.scan")}</p>
            <CopyText text={fresh.secret} label={t("settings.totp.secret")} />
            <Form layout="vertical" requiredMark={false} className="narrow" onFinish={confirm.run}>
              <Form.Item
                name="code"
                label={t("identity.code")}
                rules={[{ required: true, message: t("form.required") }]}
              >
                <Input inputMode="numeric" autoComplete="one-time-code" maxLength={8} />
              </Form.Item>
              <Button type="primary" htmlType="submit" loading={confirm.busy}>
                {t("settings.totp.confirm")}
              </Button>
            </Form>
          </div>
        </div>
      ) : (
        <>
          <p>{t("settings.totp.off")}</p>
          <Button loading={begin.busy} onClick={() => begin.run()}>
            {t("settings.totp.begin")}
          </Button>
        </>
      )}
    </Panel>
  );
}
