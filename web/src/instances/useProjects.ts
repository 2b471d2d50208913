import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";

/** Names of the account's projects; empty while they are not known. */
export function useProjects(account: string | undefined): string[] {
  const { data } = useQuery({
    queryKey: ["projects", account],
    enabled: account !== undefined,
    queryFn: () => ask(api.GET("/v1/accounts/{id}/projects", { params: { path: { id: account ?? "" } } })),
  });
  return data?.items.map((item) => item.project) ?? [];
}
