import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import { useText } from "../../i18n/useText";
import { Loading } from "../../parts/Loading";
import { Page } from "../../parts/Page";
import { Refusal } from "../../parts/Refusal";
import { NodePanel } from "./NodePanel";

/** The machines with their cards. */
export function NodesPage() {
  const { t } = useText();
  const { data, error } = useQuery({
    queryKey: ["nodes"],
    queryFn: () => ask(api.GET("/v1/nodes")),
    refetchInterval: 5_000,
  });
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  const cards = data.nodes.flatMap((n) => n.devices);
  return (
    <Page
      title={t("nodes.title")}
      about={t("nodes.about", {
        nodes: data.nodes.length,
        cards: cards.length,
        held: cards.filter((d) => d.held_by).length,
        lost: cards.filter((d) => d.state !== "ok").length,
      })}
    >
      {data.nodes.length === 0 && <p className="empty">{t("nodes.empty")}</p>}
      {data.nodes.map((node) => (
        <NodePanel key={node.id} node={node} />
      ))}
    </Page>
  );
}
