import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { Address } from "../parts/Address";
import { Confirm } from "../parts/Confirm";
import { Loading } from "../parts/Loading";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { Rows } from "../parts/Rows";
import { Time } from "../parts/Time";
import { useAct } from "../parts/useAct";
import { agentName } from "./agentName";

/** Where the user is signed in. */
export function SessionsPanel() {
  const { t, word } = useText();
  const client = useQueryClient();
  const { data, error } = useQuery({ queryKey: ["sessions"], queryFn: () => ask(api.GET("/v1/sessions")) });
  const end = useAct(async (id: string) => {
    await ask(api.DELETE("/v1/sessions/{id}", { params: { path: { id } } }));
    await client.invalidateQueries({ queryKey: ["sessions"] });
  });
  const endAll = useAct(async () => {
    await ask(api.POST("/v1/logout-everywhere", { body: {} }));
    client.setQueryData(["whoami"], null);
  });
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  return (
    <Panel
      title={t("settings.sessions")}
      extra={
        <Confirm
          title={t("settings.everywhere.sure")}
          about={t("settings.everywhere.about")}
          onConfirm={() => endAll.run()}
          button={{ danger: true, loading: endAll.busy }}
        >
          {t("settings.everywhere")}
        </Confirm>
      }
    >
      <Rows
        label={t("settings.sessions")}
        rows={data.items}
        id={(s) => s.id}
        empty="–"
        columns={[
          {
            id: "name",
            title: t("settings.session"),
            cell: (s) => (
              <>
                <span title={s.agent ?? undefined}>{s.agent ? agentName(s.agent) : s.name}</span>{" "}
                {s.current && <span className="tag tag-good">{t("settings.this-session")}</span>}
                <div className="muted small">{word("session-kind", s.kind)}</div>
              </>
            ),
          },
          {
            id: "address",
            title: t("settings.address"),
            cell: (s) => (s.address ? <Address of={s.address} /> : "–"),
          },
          { id: "since", title: t("settings.since"), cell: (s) => <Time at={s.created_at} short /> },
          {
            id: "used",
            title: t("settings.last-used"),
            cell: (s) => (s.last_used_at ? <Time at={s.last_used_at} relative /> : "–"),
          },
          {
            id: "end",
            title: <span className="hidden">{t("settings.end")}</span>,
            actions: true,
            align: "right",
            cell: (s) =>
              !s.current && (
                <Confirm
                  title={t("settings.end.sure")}
                  onConfirm={() => end.run(s.id)}
                  button={{ size: "small" }}
                >
                  {t("settings.end")}
                </Confirm>
              ),
          },
        ]}
      />
    </Panel>
  );
}
