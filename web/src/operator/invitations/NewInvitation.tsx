import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, Select } from "antd";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { isAmount } from "../../format/money";
import { useText } from "../../i18n/useText";
import { OnceSecret } from "../../parts/OnceSecret";
import { Panel } from "../../parts/Panel";
import { Refusal } from "../../parts/Refusal";
import { useAct } from "../../parts/useAct";
import { useSite } from "../../session/useSite";

const DAYS = [1, 7, 30];
type Fields = { email?: string; account_name?: string; credit?: string; days: number };

/** Makes an invitation; its link is shown once. */
export function NewInvitation() {
  const { t } = useText();
  const site = useSite();
  const client = useQueryClient();
  const [link, setLink] = useState<string>();
  const make = useAct(
    async ({ days, ...rest }: Fields) => {
      const filled = Object.fromEntries(Object.entries(rest).filter(([, text]) => text?.trim()));
      const made = await ask(api.POST("/v1/invitations", { body: { days, ...filled } }));
      setLink(made.link);
      await client.invalidateQueries({ queryKey: ["invitations"] });
    },
    { quiet: true },
  );
  return (
    <Panel title={t("invitations.new")}>
      {make.error && <Refusal error={make.error} />}
      {link && <OnceSecret title={t("members.link")} secret={link} />}
      <Form
        layout="vertical"
        requiredMark="optional"
        className="in-line"
        initialValues={{ days: 7 }}
        onFinish={make.run}
      >
        <Form.Item
          name="email"
          label={t("identity.email")}
          rules={[{ type: "email", message: t("form.email") }]}
        >
          <Input type="email" />
        </Form.Item>
        <Form.Item name="account_name" label={t("invitations.account")}>
          <Input maxLength={64} />
        </Form.Item>
        <Form.Item
          name="credit"
          label={t("invitations.credit", { currency: site?.currency ?? "" })}
          rules={[
            {
              validator: (_, text: string) =>
                !text || isAmount(text) ? Promise.resolve() : Promise.reject(new Error(t("form.amount"))),
            },
          ]}
        >
          <Input inputMode="decimal" />
        </Form.Item>
        <Form.Item name="days" label={t("members.valid")} required>
          <Select options={DAYS.map((count) => ({ value: count, label: t("settings.days", { count }) }))} />
        </Form.Item>
        <Button type="primary" htmlType="submit" loading={make.busy}>
          {t("members.invite.make")}
        </Button>
      </Form>
    </Panel>
  );
}
