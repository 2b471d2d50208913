import { Link } from "react-router";
import type { Instance } from "../api/types";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { FakeTag } from "../parts/FakeTag";
import { Rows } from "../parts/Rows";
import { StateTag } from "../parts/StateTag";
import { Time } from "../parts/Time";
import { useSite } from "../session/useSite";

/** Instances with state, card and cost. */
export function InstanceRows({ instances }: { instances: Instance[] }) {
  const { t, word, has } = useText();
  // What holds no cards now will get some of the same kind.
  const fakeSite = useSite()?.fake;
  return (
    <Rows
      label={t("instances.title")}
      testid="instances"
      rows={instances}
      id={(i) => i.id}
      faded={(i) => i.state === "released"}
      empty={
        <>
          <p>{t("instances.empty")}</p>
          <Link to="/market">{t("instances.empty.market")}</Link>
        </>
      }
      columns={[
        {
          id: "name",
          title: t("instances.name"),
          cell: (i) => (
            <>
              <Link to={`/instances/${i.id}`}>
                <strong>{i.name || i.slug}</strong>
              </Link>
              {i.name && i.name !== i.slug && <div className="muted small mono">{i.slug}</div>}
            </>
          ),
        },
        ...(instances.some((i) => i.project)
          ? [{ id: "project", title: t("instances.project"), cell: (i: Instance) => i.project ?? "–" }]
          : []),
        {
          id: "state",
          title: t("instances.state"),
          cell: (i) => (
            <>
              <StateTag state={i.state} />
              {i.reason && has(`why.${i.reason.code}`) && (
                <div className="muted small">{word("why", i.reason.code)}</div>
              )}
            </>
          ),
        },
        {
          id: "gpu",
          title: t("instances.gpu"),
          cell: (i) => (
            <span className="name-cell">
              {i.count} × {i.gpu_name}
              {(i.devices.length > 0 ? i.devices.some((d) => d.fake) : fakeSite) && <FakeTag />}
            </span>
          ),
        },
        {
          id: "since",
          title: t("instances.since"),
          wide: true,
          cell: (i) => <Time at={i.state_since} relative />,
        },
        {
          id: "rate",
          title: t("instances.rate"),
          align: "right",
          wide: true,
          cell: (i) => <Amount of={i.rate} per="hour" />,
        },
        {
          id: "cost",
          title: t("instances.cost"),
          align: "right",
          cell: (i) => <Amount of={i.cost_so_far} decimals={2} />,
        },
      ]}
    />
  );
}
