import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";

/** What the site says of itself to everybody; absent until it is known. */
export function useSite() {
  return useQuery({ queryKey: ["site"], queryFn: () => ask(api.GET("/v1/site")), staleTime: 300_000 }).data;
}
