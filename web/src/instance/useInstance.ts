import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";

const path = (id: string) => ({ params: { path: { id } } });

/** One instance; its cost grows while it runs. */
export function useInstance(id: string) {
  return useQuery({
    queryKey: ["instance", id],
    queryFn: () => ask(api.GET("/v1/instances/{id}", path(id))),
    refetchInterval: 10_000,
  });
}

/** Why it is where it is, and what comes next. */
export function useWhy(id: string) {
  return useQuery({ queryKey: ["why", id], queryFn: () => ask(api.GET("/v1/instances/{id}/why", path(id))) });
}

/** What happened to it, oldest first. */
export function useInstanceEvents(id: string) {
  return useQuery({
    queryKey: ["instance-events", id],
    queryFn: () => ask(api.GET("/v1/instances/{id}/events", path(id))),
  });
}

/** What it uses now, every two seconds while somebody looks. */
export function useUsage(id: string, running: boolean) {
  return useQuery({
    queryKey: ["usage", id],
    enabled: running,
    queryFn: () => ask(api.GET("/v1/instances/{id}/usage", path(id))),
    refetchInterval: 2_000,
    refetchIntervalInBackground: false,
    retry: false,
  });
}
