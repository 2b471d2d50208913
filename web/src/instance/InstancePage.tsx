import { Tabs } from "antd";
import { useParams, useSearchParams } from "react-router";
import { codeOf } from "../api/problem";
import { NotFoundPage } from "../app/NotFoundPage";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Page } from "../parts/Page";
import { Refusal } from "../parts/Refusal";
import { StateTag } from "../parts/StateTag";
import { useAccount } from "../session/AccountProvider";
import { Actions } from "./Actions";
import { ChartsTab } from "./ChartsTab";
import { EventsTab } from "./EventsTab";
import { Notices } from "./Notices";
import { Summary } from "./Summary";
import { TerminalTab } from "./TerminalTab";
import { useInstance } from "./useInstance";
import { WhyPanel } from "./WhyPanel";

/** One instance: state and why, cost, terminal, charts, history. */
export function InstancePage() {
  const { id = "" } = useParams();
  const { t } = useText();
  const { may } = useAccount();
  const [query, setQuery] = useSearchParams();
  const { data: instance, error } = useInstance(id);
  if (!instance) {
    if (!error) return <Loading />;
    return codeOf(error) === "not-found" ? <NotFoundPage yours /> : <Refusal error={error} />;
  }
  const running = instance.state === "running";
  // Until somebody chooses, the terminal comes by itself as soon as it can, to those who may use it.
  const tab = query.get("tab") ?? (!running ? "history" : may("use-instances") ? "terminal" : "charts");
  return (
    <Page
      title={instance.name || instance.slug}
      about={
        <span className="name-cell">
          <StateTag state={instance.state} />
          {instance.name && instance.name !== instance.slug && <span className="mono">{instance.slug}</span>}
        </span>
      }
      actions={<Actions instance={instance} />}
    >
      <Notices instance={instance} />
      <div className="split">
        <div>
          {!running && <WhyPanel instance={instance} />}
          <Tabs
            activeKey={tab}
            onChange={(key) => setQuery({ tab: key }, { replace: true })}
            items={[
              {
                key: "terminal",
                label: t("instance.terminal"),
                children: <TerminalTab instance={instance} shown={tab === "terminal"} />,
              },
              {
                key: "charts",
                label: t("instance.charts"),
                destroyOnHidden: true,
                children: <ChartsTab id={instance.id} running={running} />,
              },
              {
                key: "history",
                label: t("instance.history"),
                destroyOnHidden: true,
                children: <EventsTab id={instance.id} />,
              },
            ]}
          />
        </div>
        <Summary instance={instance} />
      </div>
    </Page>
  );
}
