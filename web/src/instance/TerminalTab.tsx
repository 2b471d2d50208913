import { lazy, Suspense, useState } from "react";
import type { Instance } from "../api/types";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { useAccount } from "../session/AccountProvider";
import { again } from "../shell/again";

const Terminal = lazy(again(() => import("../terminal/Terminal")));

/** A shell inside the instance, fetched and opened when it is first looked at. */
export function TerminalTab({ instance, shown }: { instance: Instance; shown: boolean }) {
  const { t, word } = useText();
  const { may } = useAccount();
  const mayEnter = may("use-instances");
  const [wanted, setWanted] = useState(shown);
  if (shown && !wanted) setWanted(true);
  if (!mayEnter) return <p className="empty">{t("instance.role-may-not")}</p>;
  if (instance.state !== "running") {
    return <p className="empty">{t("instance.not-running", { state: word("state", instance.state) })}</p>;
  }
  if (!wanted) return null;
  return (
    <Suspense fallback={<Loading />}>
      {/* Another run is another shell. */}
      <Terminal key={instance.ready_at} id={instance.id} />
    </Suspense>
  );
}
