import { useQuery } from "@tanstack/react-query";
import { Checkbox } from "antd";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { useText } from "../../i18n/useText";
import { Loading } from "../../parts/Loading";
import { Page } from "../../parts/Page";
import { Refusal } from "../../parts/Refusal";
import { IncidentPanel } from "./IncidentPanel";

/** Missed deadlines and broken laws: who should act, and how. */
export function IncidentsPage() {
  const { t } = useText();
  const [closedToo, setClosedToo] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["incidents"],
    queryFn: () => ask(api.GET("/v1/incidents")),
    refetchInterval: 15_000,
  });
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  const shown = data.incidents.filter((i) => closedToo || !i.closed_at);
  return (
    <Page
      title={t("incidents.title")}
      about={t("incidents.about")}
      actions={
        <Checkbox checked={closedToo} onChange={(e) => setClosedToo(e.target.checked)}>
          {t("incidents.closed-too")}
        </Checkbox>
      }
    >
      {shown.length === 0 && <p className="empty">{t("incidents.empty")}</p>}
      {shown.map((incident) => (
        <IncidentPanel key={incident.id} incident={incident} />
      ))}
    </Page>
  );
}
