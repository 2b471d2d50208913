import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input } from "antd";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { Confirm } from "../parts/Confirm";
import { Loading } from "../parts/Loading";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { Rows } from "../parts/Rows";
import { Time } from "../parts/Time";
import { useAct } from "../parts/useAct";

type Fields = { key: string; name?: string };

/** Public SSH keys of the user. */
export function KeysPanel() {
  const { t } = useText();
  const client = useQueryClient();
  const [form] = Form.useForm<Fields>();
  const { data, error } = useQuery({ queryKey: ["keys"], queryFn: () => ask(api.GET("/v1/keys")) });
  const changed = () => client.invalidateQueries({ queryKey: ["keys"] });
  const add = useAct(
    async ({ key, name }: Fields) => {
      await ask(
        api.POST("/v1/keys", { body: { key: key.trim(), ...(name?.trim() ? { name: name.trim() } : {}) } }),
      );
      form.resetFields();
      await changed();
    },
    { quiet: true },
  );
  const remove = useAct(async (id: string) => {
    await ask(api.DELETE("/v1/keys/{id}", { params: { path: { id } } }));
    await changed();
  });
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  return (
    <>
      <Panel title={t("settings.keys")}>
        <Rows
          label={t("settings.keys")}
          testid="keys"
          rows={data.items}
          id={(k) => k.id}
          empty={t("settings.keys.empty")}
          columns={[
            { id: "name", title: t("settings.key.name"), cell: (k) => <strong>{k.name}</strong> },
            {
              id: "kind",
              title: t("settings.key.kind"),
              cell: (k) => <span className="mono">{k.kind}</span>,
            },
            {
              id: "print",
              title: t("settings.key.fingerprint"),
              cell: (k) => <span className="mono break small">{k.fingerprint}</span>,
            },
            {
              id: "since",
              title: t("settings.since"),
              wide: true,
              cell: (k) => <Time at={k.created_at} short />,
            },
            {
              id: "remove",
              title: <span className="hidden">{t("shell.remove")}</span>,
              actions: true,
              align: "right",
              cell: (k) => (
                <Confirm
                  title={t("settings.key.remove.sure", { name: k.name })}
                  onConfirm={() => remove.run(k.id)}
                  button={{ size: "small" }}
                >
                  {t("shell.remove")}
                </Confirm>
              ),
            },
          ]}
        />
      </Panel>
      <Panel title={t("settings.key.add")}>
        {add.error && <Refusal error={add.error} />}
        <Form form={form} layout="vertical" requiredMark="optional" onFinish={add.run}>
          <Form.Item
            name="key"
            label={t("settings.key.key")}
            extra={t("settings.key.more")}
            rules={[{ required: true, message: t("form.required") }]}
          >
            <Input.TextArea
              className="mono"
              autoSize={{ minRows: 3, maxRows: 8 }}
              placeholder="ssh-ed25519 AAAA…"
            />
          </Form.Item>
          <Form.Item name="name" label={t("settings.key.name")} className="narrow">
            <Input maxLength={64} />
          </Form.Item>
          <Button type="primary" htmlType="submit" loading={add.busy}>
            {t("settings.key.add")}
          </Button>
        </Form>
      </Panel>
    </>
  );
}
