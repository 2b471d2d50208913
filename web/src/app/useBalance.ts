import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { useAccount } from "../session/AccountProvider";

/** What is in the account in use. It shrinks while something runs, so it is asked for again. */
export function useBalance() {
  const { account } = useAccount();
  return useQuery({
    queryKey: ["balance", account?.id],
    enabled: account !== undefined,
    queryFn: () => ask(api.GET("/v1/balance", { params: { query: { account: account?.id } } })),
    refetchInterval: 20_000,
  }).data;
}
