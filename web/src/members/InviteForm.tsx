import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, Select } from "antd";
import { useState } from "react";
import { api, ask } from "../api/client";
import type { Role } from "../api/types";
import { ROLES } from "../api/words";
import { useText } from "../i18n/useText";
import { OnceSecret } from "../parts/OnceSecret";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";
import { useAccount } from "../session/AccountProvider";

const DAYS = [1, 7, 30];
type Fields = { email?: string; role: Role; days: number };

/** Invites somebody into the account. */
export function InviteForm({ account }: { account: string }) {
  const { t, word } = useText();
  const { may } = useAccount();
  const roles = ROLES.filter((role) => role !== "owner" || may("manage-owners"));
  const client = useQueryClient();
  const [link, setLink] = useState<string>();
  const invite = useAct(
    async ({ email, ...rest }: Fields) => {
      const body = { ...rest, ...(email ? { email } : {}) };
      const made = await ask(
        api.POST("/v1/accounts/{id}/invitations", { params: { path: { id: account } }, body }),
      );
      setLink(made.link);
      await client.invalidateQueries({ queryKey: ["members"] });
    },
    { quiet: true },
  );
  return (
    <Panel title={t("members.invite")}>
      {invite.error && <Refusal error={invite.error} />}
      {link && <OnceSecret title={t("members.link")} secret={link} />}
      <Form
        layout="vertical"
        requiredMark="optional"
        className="in-line"
        initialValues={{ role: "member", days: 7 }}
        onFinish={invite.run}
      >
        <Form.Item
          name="email"
          label={t("identity.email")}
          rules={[{ type: "email", message: t("form.email") }]}
        >
          <Input type="email" />
        </Form.Item>
        <Form.Item name="role" label={t("members.role")} required>
          <Select
            popupMatchSelectWidth={false}
            options={roles.map((role) => ({ value: role, label: word("role", role) }))}
          />
        </Form.Item>
        <Form.Item name="days" label={t("members.valid")} required>
          <Select options={DAYS.map((count) => ({ value: count, label: t("settings.days", { count }) }))} />
        </Form.Item>
        <Button type="primary" htmlType="submit" loading={invite.busy}>
          {t("members.invite.make")}
        </Button>
      </Form>
      <p className="muted small">{t("members.invite.more")}</p>
    </Panel>
  );
}
