import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";

/** What can be rented. Others' rents are no events of ours, so stock is asked for again. */
export function useOffers() {
  return useQuery({
    queryKey: ["offers"],
    queryFn: () => ask(api.GET("/v1/offers")),
    refetchInterval: 10_000,
  });
}
