import { lazy, Suspense, useState } from "react";
import { Link } from "react-router";
import type { Offer } from "../api/types";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Page } from "../parts/Page";
import { Refusal } from "../parts/Refusal";
import { Time } from "../parts/Time";
import { useAccount } from "../session/AccountProvider";
import { useSite } from "../session/useSite";
import { again } from "../shell/again";
import { ANYTHING, fitting, recommended } from "./choice";
import { MarketFilters } from "./MarketFilters";
import { OfferRows } from "./OfferRows";
import { Recommended } from "./Recommended";
import { useOffers } from "./useOffers";

const RentDrawer = lazy(again(() => import("./RentDrawer")));

/** What can be rented now, and for how much. */
export function MarketPage() {
  const { t } = useText();
  const { account, who, may } = useAccount();
  const site = useSite();
  const mayRent = may("rent");
  const { data, error } = useOffers();
  const [wish, setWish] = useState(ANYTHING);
  const [chosen, setChosen] = useState<Offer>();
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  const first = recommended(fitting(data.offers, wish), wish);
  const rent = mayRent ? setChosen : undefined;
  return (
    <Page
      title={t("market.title")}
      about={
        <>
          {t("market.about", { currency: data.currency })} <Time at={data.counted_at} relative />
        </>
      }
    >
      {!mayRent && <p className="note">{account ? t("market.role-may-not") : t("market.no-account")}</p>}
      {mayRent && site?.identity_required && who.user.identity !== "verified" && (
        <p className="note">
          {t("market.identity-needed")} <Link to="/settings/identity">{t("settings.identity.begin")}</Link>
        </p>
      )}
      {first && <Recommended offer={first} currency={data.currency} onRent={rent} />}
      <MarketFilters offers={data.offers} wish={wish} onChange={setWish} />
      <OfferRows
        offers={fitting(data.offers, wish)}
        cards={wish.cards}
        currency={data.currency}
        onRent={rent}
      />
      {chosen && (
        <Suspense fallback={null}>
          <RentDrawer
            key={chosen.gpu}
            offer={chosen}
            cards={wish.cards}
            onClose={() => setChosen(undefined)}
          />
        </Suspense>
      )}
    </Page>
  );
}
