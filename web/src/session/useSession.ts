import { useQuery } from "@tanstack/react-query";
import { api, ask, rememberCsrf } from "../api/client";
import { Refused } from "../api/problem";
import type { WhoAmI } from "../api/types";

/** Who is signed in: `null` when nobody is, `undefined` while that is not known. */
export function useSession(): { who: WhoAmI | null | undefined; error: unknown } {
  const { data, error } = useQuery({
    queryKey: ["whoami"],
    staleTime: 60_000,
    queryFn: async () => {
      try {
        const who = await ask(api.GET("/v1/whoami"));
        rememberCsrf(who.csrf);
        return who;
      } catch (error) {
        if (error instanceof Refused && error.code === "unauthenticated") return null;
        throw error;
      }
    },
  });
  return { who: data, error };
}
