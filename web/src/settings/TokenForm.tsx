import { Button, Form, Input, Select } from "antd";
import { api, ask } from "../api/client";
import type { Scope } from "../api/types";
import { SCOPES } from "../api/words";
import { useText } from "../i18n/useText";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";
import { useAccount } from "../session/AccountProvider";
import { ScopeBoxes } from "./ScopeBoxes";

const DAYS = [7, 30, 90, 365];
type Fields = { name: string; scopes: Scope[]; account?: string; days: number };

/** Makes a token. */
export function TokenForm({ onMade }: { onMade: (secret: string) => void }) {
  const { t } = useText();
  const { who, isOperator } = useAccount();
  const [form] = Form.useForm<Fields>();
  const make = useAct(
    async (body: Fields) => {
      const made = await ask(api.POST("/v1/tokens", { body }));
      form.resetFields();
      onMade(made.token);
    },
    { quiet: true },
  );
  const scopes = SCOPES.filter((scope) => isOperator || scope !== "operate");
  return (
    <Panel title={t("settings.token.make")}>
      {make.error && <Refusal error={make.error} />}
      <Form
        form={form}
        layout="vertical"
        requiredMark="optional"
        initialValues={{ scopes: ["read"], days: 90 }}
        onFinish={make.run}
      >
        <div className="two">
          <Form.Item
            name="name"
            label={t("settings.token.name")}
            rules={[{ required: true, message: t("form.required") }]}
          >
            <Input maxLength={64} />
          </Form.Item>
          <Form.Item name="days" label={t("settings.token.lasts")} required>
            <Select options={DAYS.map((count) => ({ value: count, label: t("settings.days", { count }) }))} />
          </Form.Item>
          {who.accounts.length > 0 && (
            <Form.Item name="account" label={t("settings.token.account")}>
              <Select
                allowClear
                placeholder={t("settings.token.all-accounts")}
                options={who.accounts.map((a) => ({ value: a.id, label: a.name }))}
              />
            </Form.Item>
          )}
        </div>
        <Form.Item
          name="scopes"
          label={t("settings.token.scopes")}
          required
          rules={[
            {
              validator: (_, list: Scope[]) =>
                list.length > 0 ? Promise.resolve() : Promise.reject(new Error(t("form.required"))),
            },
          ]}
        >
          <ScopeBoxes scopes={scopes} />
        </Form.Item>
        <Button type="primary" htmlType="submit" loading={make.busy}>
          {t("settings.token.make")}
        </Button>
      </Form>
    </Panel>
  );
}
