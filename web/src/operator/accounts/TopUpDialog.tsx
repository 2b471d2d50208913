import { useQueryClient } from "@tanstack/react-query";
import { App, Form, Input, Modal } from "antd";
import { useRef } from "react";
import { api, ask, idempotencyKey } from "../../api/client";
import type { Account } from "../../api/types";
import { isAmount, moneyText } from "../../format/money";
import { useText } from "../../i18n/useText";
import { Refusal } from "../../parts/Refusal";
import { useAct } from "../../parts/useAct";

type Fields = { amount: string; note?: string };

/** Adds money to an account, once, however often the button is pressed. */
export function TopUpDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const { t, locale } = useText();
  const { message } = App.useApp();
  const client = useQueryClient();
  const [form] = Form.useForm<Fields>();
  const key = useRef(idempotencyKey());
  const topUp = useAct(
    async ({ amount, note }: Fields) => {
      const params = { path: { id: account.id }, header: { "Idempotency-Key": key.current } };
      const body = { amount: amount.trim(), ...(note?.trim() ? { note: note.trim() } : {}) };
      const done = await ask(api.POST("/v1/accounts/{id}/topups", { params, body }));
      const money = (of: { amount: string }) => moneyText(of.amount, account.currency, locale);
      void message.success(
        t("accounts.topped-up", { amount: money(done.amount), balance: money(done.balance) }),
      );
      await client.invalidateQueries({ queryKey: ["accounts"] });
      onClose();
    },
    { quiet: true },
  );
  return (
    <Modal
      open
      title={t("accounts.top-up-what", { name: account.name })}
      onCancel={onClose}
      onOk={form.submit}
      okText={t("accounts.top-up")}
      confirmLoading={topUp.busy}
    >
      {topUp.error && <Refusal error={topUp.error} />}
      <Form form={form} layout="vertical" requiredMark="optional" onFinish={topUp.run}>
        <Form.Item
          name="amount"
          label={t("accounts.amount", { currency: account.currency })}
          rules={[
            { required: true, message: t("form.required") },
            {
              validator: (_, text: string) =>
                !text || isAmount(text) ? Promise.resolve() : Promise.reject(new Error(t("form.amount"))),
            },
          ]}
        >
          <Input inputMode="decimal" autoFocus />
        </Form.Item>
        <Form.Item name="note" label={t("accounts.note")}>
          <Input maxLength={200} />
        </Form.Item>
      </Form>
    </Modal>
  );
}
