import { useInfiniteQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";

/** The account's instances, or those of one project, page by page, newest first. */
export function useInstances(account: string | undefined, all: boolean, project: string | undefined) {
  return useInfiniteQuery({
    queryKey: ["instances", account, all, project],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ask(api.GET("/v1/instances", { params: { query: { account, all, project, cursor: pageParam } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    // The cost of what runs grows without any event.
    refetchInterval: 20_000,
  });
}
