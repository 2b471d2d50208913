import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../../api/client";

/** All accounts of the site. */
export function useAccounts() {
  return useQuery({ queryKey: ["accounts"], queryFn: () => ask(api.GET("/v1/accounts")) });
}
