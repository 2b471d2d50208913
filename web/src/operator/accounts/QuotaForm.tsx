import { useQueryClient } from "@tanstack/react-query";
import { App, Button, Form, Input } from "antd";
import { api, ask } from "../../api/client";
import type { Account, Quotas } from "../../api/types";
import { isAmount } from "../../format/money";
import { useText } from "../../i18n/useText";
import { useOffers } from "../../market/useOffers";
import { Refusal } from "../../parts/Refusal";
import { useAct } from "../../parts/useAct";
import { useModelName } from "../../quotas/useModelName";
import { fieldsOf, isCount, type QuotaFields, quotaRequest } from "./quotaRequest";

type Props = { account: Account; quotas: Quotas; onClose: () => void };

/** Sets the quotas of an account. */
export function QuotaForm({ account, quotas, onClose }: Props) {
  const { t } = useText();
  const { message } = App.useApp();
  const client = useQueryClient();
  const modelName = useModelName();
  const offers = useOffers().data?.offers ?? [];
  const models = [...new Set([...offers.map((o) => o.gpu), ...Object.keys(quotas.quotas.cards)])];
  const save = useAct(
    async (fields: QuotaFields) => {
      const params = { path: { id: account.id } };
      const now = await ask(api.PUT("/v1/accounts/{id}/quotas", { params, body: quotaRequest(fields) }));
      client.setQueryData(["quotas", account.id], now);
      void message.success(t("quotas.saved"));
      onClose();
    },
    { quiet: true },
  );
  const rule = (fine: (text: string) => boolean, why: string) => ({
    validator: (_: unknown, text: string | undefined) =>
      !text?.trim() || fine(text) ? Promise.resolve() : Promise.reject(new Error(why)),
  });
  const field = (name: string | string[], label: string, unit?: string) => (
    <Form.Item key={String(name)} name={name} label={label} rules={[rule(isCount, t("form.count"))]}>
      <Input inputMode="numeric" placeholder={t("quotas.no-limit")} suffix={unit} />
    </Form.Item>
  );
  return (
    <div className="quota-form">
      {save.error && <Refusal error={save.error} />}
      <Form layout="vertical" initialValues={fieldsOf(quotas)} onFinish={save.run}>
        <div className="two">
          {field("cards_total", t("quotas.cards"))}
          {field("instances", t("quotas.instances"))}
          {field("storage_gib", t("quotas.storage"), "GiB")}
          <Form.Item
            name="spend_per_day"
            label={t("quotas.spend")}
            rules={[rule((text) => isAmount(text) || /^0+(\.0+)?$/.test(text.trim()), t("form.amount"))]}
          >
            <Input inputMode="decimal" placeholder={t("quotas.no-limit")} suffix={account.currency} />
          </Form.Item>
          {models.map((slug) => field(["cards", slug], t("quotas.cards-of", { name: modelName(slug) })))}
        </div>
        <p className="muted small">{t("quotas.change.more")}</p>
        <span className="row-actions">
          <Button type="primary" htmlType="submit" loading={save.busy}>
            {t("quotas.save")}
          </Button>
          <Button onClick={onClose}>{t("shell.cancel")}</Button>
        </span>
      </Form>
    </div>
  );
}
