import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, ask } from "../../api/client";

const TYPING_MS = 500;

/** What the server says of a price book that is being written; nothing for none. */
export function useLint(text: string | undefined) {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data } = useQuery({
    queryKey: ["lint", settled],
    enabled: settled !== undefined,
    placeholderData: keepPreviousData,
    queryFn: () => ask(api.POST("/v1/prices/lint", { body: { text: settled ?? "" } })),
  });
  // An older text's verdict must not let this one through.
  return settled === text ? data : undefined;
}
