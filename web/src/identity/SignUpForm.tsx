import { Button, Form, Input } from "antd";
import { useText } from "../i18n/useText";
import { NewPassword } from "./NewPassword";

export type SignUpFields = { name: string; email?: string; password: string };

type Props = {
  /** The address that was invited. */
  email: string | undefined;
  needsEmail: boolean;
  busy: boolean;
  onDone: (fields: SignUpFields) => void;
};

/** Name, e-mail and password of a new user. */
export function SignUpForm({ email, needsEmail, busy, onDone }: Props) {
  const { t } = useText();
  return (
    <Form<SignUpFields>
      layout="vertical"
      requiredMark="optional"
      initialValues={{ email }}
      onFinish={({ email, ...rest }) => onDone({ ...rest, ...(email ? { email } : {}) })}
    >
      <Form.Item
        name="name"
        label={t("identity.name")}
        rules={[{ required: true, message: t("form.required") }]}
      >
        <Input autoComplete="username" autoCapitalize="none" maxLength={64} autoFocus />
      </Form.Item>
      <Form.Item
        name="email"
        label={t("identity.email")}
        rules={[
          { required: needsEmail, message: t("form.required") },
          { type: "email", message: t("form.email") },
        ]}
      >
        <Input type="email" autoComplete="email" />
      </Form.Item>
      <NewPassword />
      <Button type="primary" htmlType="submit" block loading={busy}>
        {t("identity.sign-up")}
      </Button>
    </Form>
  );
}
