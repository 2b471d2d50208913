import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { QuotaRows } from "./QuotaRows";
import { useQuotas } from "./useQuotas";

/** What the account may have at most, for those who belong to it. */
export function QuotaPanel({ account }: { account: string }) {
  const { t } = useText();
  const { data, error } = useQuotas(account);
  return (
    <Panel title={t("quotas.title")} extra={<span className="muted small">{t("quotas.about")}</span>}>
      {data ? <QuotaRows of={data} /> : error ? <Refusal error={error} /> : <Loading />}
    </Panel>
  );
}
