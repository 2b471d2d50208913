import { MoreOutlined } from "@ant-design/icons";
import { useQueryClient } from "@tanstack/react-query";
import { App, Button, Dropdown } from "antd";
import { api, ask } from "../../api/client";
import type { OperatorRole, UserRow } from "../../api/types";
import { OPERATOR_ROLES } from "../../api/words";
import { useText } from "../../i18n/useText";
import { useAct } from "../../parts/useAct";
import { useAccount } from "../../session/AccountProvider";

type Props = { user: UserRow; onPassword: (secret: string) => void };

/** What an operator can do with a user. */
export function UserActions({ user, onPassword }: Props) {
  const { t, word } = useText();
  const { may } = useAccount();
  const { modal } = App.useApp();
  const client = useQueryClient();
  const params = { params: { path: { id: user.id } } };
  const act = useAct(async (what: () => Promise<unknown>) => {
    await what();
    await client.invalidateQueries({ queryKey: ["users"] });
  });
  const sure = (title: string, what: () => Promise<unknown>) => {
    void modal.confirm({ title, onOk: () => act.run(what) });
  };
  const role = (operator_role: OperatorRole | null) => () =>
    ask(api.PUT("/v1/users/{id}/role", { ...params, body: { operator_role } }));
  const newPassword = async () =>
    onPassword((await ask(api.POST("/v1/users/{id}/password", params))).password);
  if (!may("manage-users")) return null;
  return (
    <span className="row-actions">
      {user.state === "awaiting-approval" && (
        <Button
          size="small"
          type="primary"
          loading={act.busy}
          onClick={() => act.run(() => ask(api.POST("/v1/users/{id}/approve", params)))}
        >
          {t("users.approve")}
        </Button>
      )}
      <Dropdown
        trigger={["click"]}
        menu={{
          items: [
            user.state === "disabled"
              ? {
                  key: "enable",
                  label: t("users.enable"),
                  onClick: () => act.run(() => ask(api.POST("/v1/users/{id}/enable", params))),
                }
              : {
                  key: "disable",
                  danger: true,
                  label: t("users.disable"),
                  onClick: () =>
                    sure(t("users.disable.sure", { name: user.name }), () =>
                      ask(api.POST("/v1/users/{id}/disable", params)),
                    ),
                },
            {
              key: "password",
              label: t("users.password"),
              onClick: () => sure(t("users.password.sure", { name: user.name }), newPassword),
            },
            {
              key: "totp",
              disabled: !user.totp,
              label: t("users.totp"),
              onClick: () =>
                sure(t("users.totp.sure", { name: user.name }), () =>
                  ask(api.POST("/v1/users/{id}/totp/remove", params)),
                ),
            },
            { type: "divider" },
            {
              key: "role",
              label: t("users.operator-role"),
              disabled: !may("manage-site"),
              children: [
                {
                  key: "none",
                  label: t("users.no-role"),
                  disabled: !user.operator_role,
                  onClick: () => act.run(role(null)),
                },
                ...OPERATOR_ROLES.map((name) => ({
                  key: name,
                  label: word("operator-role", name),
                  disabled: user.operator_role === name,
                  onClick: () =>
                    sure(
                      t("users.role.sure", { name: user.name, role: word("operator-role", name) }),
                      role(name),
                    ),
                })),
              ],
            },
          ],
        }}
      >
        <Button
          size="small"
          icon={<MoreOutlined aria-hidden />}
          aria-label={`${t("users.actions")}: ${user.name}`}
        />
      </Dropdown>
    </span>
  );
}
