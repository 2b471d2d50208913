import { Button, Form, Input } from "antd";
import { useText } from "../../i18n/useText";

/** Dates are days of the browser's zone, sent as moments. */
export type AuditFilter = { actor?: string; action?: string; object?: string; from?: string; to?: string };

/** Narrows the audit log down. */
export function AuditFilters({ onChange }: { onChange: (filter: AuditFilter) => void }) {
  const { t } = useText();
  const apply = (fields: AuditFilter) => {
    const filled = Object.entries(fields).filter(([, text]) => text?.trim());
    const moments = filled.map(([name, text]) => [
      name,
      name === "from" || name === "to" ? startOf(text, name === "to") : text,
    ]);
    onChange(Object.fromEntries(moments));
  };
  return (
    <Form layout="vertical" className="in-line" onFinish={apply}>
      <Form.Item name="actor" label={t("audit.actor")}>
        <Input />
      </Form.Item>
      <Form.Item name="action" label={t("audit.action")}>
        <Input />
      </Form.Item>
      <Form.Item name="object" label={t("audit.object")}>
        <Input />
      </Form.Item>
      <Form.Item name="from" label={t("audit.from")}>
        <Input type="date" />
      </Form.Item>
      <Form.Item name="to" label={t("audit.to")}>
        <Input type="date" />
      </Form.Item>
      <Button htmlType="submit">{t("audit.filter")}</Button>
    </Form>
  );
}

function startOf(day: string, next: boolean): string {
  const date = new Date(`${day}T00:00:00`);
  if (next) date.setDate(date.getDate() + 1);
  return date.toISOString();
}
