import { Form, Input } from "antd";
import { useText } from "../i18n/useText";

/** Shortest password that is taken. */
const SHORTEST = 10;

/** The field for a password to be set. One field: it can be shown, so it need not be typed twice. */
export function NewPassword({ name = "password" }: { name?: string }) {
  const { t } = useText();
  return (
    <Form.Item
      name={name}
      label={t("identity.new-password")}
      extra={t("identity.password.rule", { count: SHORTEST })}
      rules={[
        { required: true, message: t("form.required") },
        { min: SHORTEST, message: t("identity.password.rule", { count: SHORTEST }) },
      ]}
    >
      <Input.Password autoComplete="new-password" />
    </Form.Item>
  );
}
