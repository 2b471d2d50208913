import { useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { api, ask } from "../api/client";
import type { Instance } from "../api/types";
import { useText } from "../i18n/useText";
import { Confirm } from "../parts/Confirm";
import { useAct } from "../parts/useAct";
import { useAccount } from "../session/AccountProvider";

const AT_REST = ["stopped", "lost", "failed"];

/** Stop, start and release; each says what it does to data and money. */
export function Actions({ instance }: { instance: Instance }) {
  const { t } = useText();
  const { may } = useAccount();
  const mayChange = may("change-instances");
  const client = useQueryClient();
  const params = { path: { id: instance.id } };
  const keep = (answer: Promise<Instance>) =>
    answer.then((now) => {
      client.setQueryData(["instance", instance.id], now);
      return client.invalidateQueries({ queryKey: ["balance"] });
    });
  const stop = useAct(() => keep(ask(api.POST("/v1/instances/{id}/stop", { params }))));
  const start = useAct(() => keep(ask(api.POST("/v1/instances/{id}/start", { params, body: {} }))));
  const release = useAct(() => keep(ask(api.POST("/v1/instances/{id}/release", { params }))));
  if (!mayChange || instance.desired === "released") return null;
  const resting = AT_REST.includes(instance.state);
  return (
    <>
      {resting && (
        <Button type="primary" loading={start.busy} onClick={() => start.run()} data-testid="start">
          {t("instance.start")}
        </Button>
      )}
      {instance.desired === "running" && !resting && (
        <Confirm
          title={t("instance.stop.sure")}
          about={t("instance.stop.about")}
          onConfirm={() => stop.run()}
          button={{ loading: stop.busy, "data-testid": "stop" }}
        >
          {t("instance.stop")}
        </Confirm>
      )}
      <Confirm
        title={t("instance.release.sure")}
        about={t("instance.release.about")}
        onConfirm={() => release.run()}
        button={{ danger: true, loading: release.busy, "data-testid": "release" }}
      >
        {t("instance.release")}
      </Confirm>
    </>
  );
}
