import { useOffers } from "../market/useOffers";

/** Names of GPU models by their slugs; a model that this site does not offer keeps its slug. */
export function useModelName() {
  const { data } = useOffers();
  return (slug: string) => data?.offers.find((offer) => offer.gpu === slug)?.name ?? slug;
}
