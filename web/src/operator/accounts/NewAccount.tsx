import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, Select } from "antd";
import { useState } from "react";
import { api, ask, idempotencyKey } from "../../api/client";
import { browserZone } from "../../format/time";
import { useText } from "../../i18n/useText";
import { OnceSecret } from "../../parts/OnceSecret";
import { Panel } from "../../parts/Panel";
import { Refusal } from "../../parts/Refusal";
import { useAct } from "../../parts/useAct";

type Fields = { name: string; user?: string; time_zone: string };

/** Makes an account with its first user. */
export function NewAccount() {
  const { t } = useText();
  const client = useQueryClient();
  const [form] = Form.useForm<Fields>();
  const [made, setMade] = useState<{ user: string; password?: string | null }>();
  const make = useAct(
    async ({ user, ...rest }: Fields) => {
      const params = { header: { "Idempotency-Key": idempotencyKey() } };
      const body = { ...rest, ...(user ? { user } : {}) };
      const done = await ask(api.POST("/v1/accounts", { body, params }));
      setMade(done);
      form.resetFields();
      await client.invalidateQueries({ queryKey: ["accounts"] });
    },
    { quiet: true },
  );
  const zones = ["UTC", browserZone(), ...Intl.supportedValuesOf("timeZone")];
  return (
    <Panel title={t("accounts.new")}>
      {make.error && <Refusal error={make.error} />}
      {made?.password && (
        <OnceSecret title={t("accounts.password-of", { user: made.user })} secret={made.password} />
      )}
      <Form
        form={form}
        layout="vertical"
        requiredMark="optional"
        className="in-line"
        initialValues={{ time_zone: browserZone() }}
        onFinish={make.run}
      >
        <Form.Item
          name="name"
          label={t("accounts.name")}
          rules={[{ required: true, message: t("form.required") }]}
        >
          <Input maxLength={64} />
        </Form.Item>
        <Form.Item name="user" label={t("accounts.first-user")} tooltip={t("accounts.first-user.more")}>
          <Input maxLength={64} />
        </Form.Item>
        <Form.Item name="time_zone" label={t("accounts.zone")} required>
          <Select
            showSearch
            popupMatchSelectWidth={false}
            options={[...new Set(zones)].map((zone) => ({ value: zone, label: zone }))}
          />
        </Form.Item>
        <Button type="primary" htmlType="submit" loading={make.busy}>
          {t("accounts.make")}
        </Button>
      </Form>
    </Panel>
  );
}
