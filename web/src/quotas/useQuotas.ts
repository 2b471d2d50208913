import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";

/** What an account may have at most and what it has now. */
export function useQuotas(account: string) {
  return useQuery({
    queryKey: ["quotas", account],
    queryFn: () => ask(api.GET("/v1/accounts/{id}/quotas", { params: { path: { id: account } } })),
  });
}
