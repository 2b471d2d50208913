import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { follow, type Link } from "./follow";
import { touched } from "./touched";

const LinkContext = createContext<Link>("waiting");

/** How the event stream is now. */
export const useLink = () => useContext(LinkContext);

/** Events that come together are answered by one refetch. */
const GATHER_MS = 150;

/** Keeps everything below up to date with what happens on the server. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [link, setLink] = useState<Link>("waiting");

  useEffect(() => {
    const stale = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let wasLost = false;
    const refresh = () => {
      timer = undefined;
      for (const key of stale) void client.invalidateQueries({ queryKey: [key] });
      stale.clear();
    };
    const end = follow({
      event(data) {
        for (const key of touched(data)) stale.add(key);
        timer ??= setTimeout(refresh, GATHER_MS);
      },
      link(now) {
        setLink(now);
        if (now === "reconnecting") wasLost = true;
        // What is polled rather than told may be old after a break.
        else if (wasLost) void client.invalidateQueries();
      },
      refused: () => void client.invalidateQueries({ queryKey: ["whoami"] }),
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [client]);

  return <LinkContext value={link}>{children}</LinkContext>;
}
