import { Button } from "antd";
import type { Offer } from "../api/types";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { FakeTag } from "../parts/FakeTag";
import { Isolation } from "../parts/Isolation";
import { Panel } from "../parts/Panel";

type Props = { offer: Offer; currency: string; onRent: ((offer: Offer) => void) | undefined };

/** The card to begin with, for those who do not want to compare. */
export function Recommended({ offer, currency, onRent }: Props) {
  const { t } = useText();
  return (
    <Panel testid="recommended">
      <div className="recommended">
        <div className="grow">
          <div className="eyebrow">{t("market.recommended")}</div>
          <div className="recommended-name">
            <h2>{offer.name}</h2>
            {offer.fake && <FakeTag />}
          </div>
          <div className="muted">
            {t("market.comes-with", {
              vram: offer.vram_gib,
              cpus: offer.cpus,
              memory: offer.memory_gib,
              disk: offer.disk_gib,
            })}
            {" · "}
            <Isolation kind={offer.isolation} />
          </div>
        </div>
        <div className="recommended-price">
          {offer.on_demand && <Amount of={offer.on_demand} currency={currency} per="hour" />}
          <div className="muted small">{t("market.free-of", { free: offer.free, total: offer.total })}</div>
        </div>
        <Button
          type="primary"
          size="large"
          disabled={!onRent}
          onClick={() => onRent?.(offer)}
          data-testid="rent-recommended"
        >
          {t("market.rent")}
        </Button>
      </div>
    </Panel>
  );
}
