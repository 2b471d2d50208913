import { useQueryClient } from "@tanstack/react-query";
import { Form, Modal } from "antd";
import { useState } from "react";
import { api, ask } from "../api/client";
import type { Instance } from "../api/types";
import { isAmount } from "../format/money";
import { useText } from "../i18n/useText";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";
import { fieldsOf, rulesChange } from "./ruleFields";
import { StopRuleFields } from "./StopRuleFields";

type Props = { instance: Instance; currency: string; timeZone: string; onClose: () => void };

/** Changes when an instance stops by itself, also while it runs. */
export function ChangeRules({ instance, currency, timeZone, onClose }: Props) {
  const { t } = useText();
  const client = useQueryClient();
  const [before] = useState(() => fieldsOf(instance.stop_rules, timeZone));
  const [form, setForm] = useState(before);
  const change = rulesChange(before, form);
  const save = useAct(
    async () => {
      const params = { path: { id: instance.id } };
      const now = await ask(api.PUT("/v1/instances/{id}/rules", { params, body: change }));
      client.setQueryData(["instance", instance.id], now);
      onClose();
    },
    { quiet: true },
  );
  const wrong = form.budget.trim() !== "" && !isAmount(form.budget);
  return (
    <Modal
      open
      title={t("instance.rules.change")}
      onCancel={onClose}
      onOk={() => save.run()}
      okText={t("instance.rules.change")}
      okButtonProps={{ disabled: wrong || Object.keys(change).length === 0 }}
      confirmLoading={save.busy}
    >
      {save.error && <Refusal error={save.error} />}
      <Form layout="vertical">
        <StopRuleFields
          form={form}
          currency={currency}
          onChange={(part) => setForm((now) => ({ ...now, ...part }))}
        />
      </Form>
    </Modal>
  );
}
