import { Form, Input, Select, Switch } from "antd";
import { isAmount } from "../format/money";
import { useText } from "../i18n/useText";
import type { RuleFields } from "./ruleFields";

const IDLE = ["15m", "30m", "1h", "2h", "4h", "12h"];
const AFTER = ["1h", "2h", "4h", "8h", "24h", "72h"];

type Props = { form: RuleFields; currency: string; onChange: (change: Partial<RuleFields>) => void };

/** When the instance stops by itself. The idle rule is on and says what counts as activity. */
export function StopRuleFields({ form, currency, onChange }: Props) {
  const { t, word } = useText();
  const spans = (list: string[]) => list.map((value) => ({ value, label: word("span", value) }));
  const badBudget = form.budget.trim() !== "" && !isAmount(form.budget);
  return (
    <>
      <div className="idle">
        <Switch
          id="idle-on"
          checked={form.idleOn}
          onChange={(idleOn) => onChange({ idleOn })}
          aria-label={t("rules.idle")}
        />
        <div className="grow">
          <div className="idle-line">
            <label htmlFor="idle-on">{t("rules.idle")}</label>
            <Select
              aria-label={t("rules.idle.after")}
              size="small"
              value={form.idle}
              disabled={!form.idleOn}
              options={spans(IDLE)}
              popupMatchSelectWidth={false}
              onChange={(idle) => onChange({ idle })}
            />
          </div>
          <div className={form.idleOn ? "muted small" : "warn small"}>
            {form.idleOn ? t("rules.idle.more") : t("rules.idle.off")}
          </div>
        </div>
      </div>
      <details className="more">
        <summary>{t("rules.more")}</summary>
        <div className="two">
          <Form.Item label={t("rules.after")} htmlFor="rule-after">
            <Select
              id="rule-after"
              value={form.after || undefined}
              placeholder={t("rules.never")}
              allowClear
              options={spans(AFTER)}
              onChange={(after) => onChange({ after: after ?? "" })}
            />
          </Form.Item>
          <Form.Item label={t("rules.at")} htmlFor="rule-at" extra={t("rules.at.more")}>
            <Input
              id="rule-at"
              type="time"
              value={form.at}
              onChange={(e) => onChange({ at: e.target.value })}
            />
          </Form.Item>
          <Form.Item
            label={t("rules.budget", { currency })}
            htmlFor="rule-budget"
            validateStatus={badBudget ? "error" : undefined}
            help={badBudget ? t("form.amount") : undefined}
          >
            <Input
              id="rule-budget"
              inputMode="decimal"
              value={form.budget}
              placeholder={t("rules.no-budget")}
              onChange={(e) => onChange({ budget: e.target.value })}
            />
          </Form.Item>
        </div>
      </details>
    </>
  );
}
