import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useState } from "react";
import { api, ask } from "../api/client";
import type { RentRequest } from "../api/types";

const TYPING_MS = 250;

/** The frozen price of a request, following what is typed. */
export function useQuote(request: RentRequest) {
  const text = useSettled(JSON.stringify(request), TYPING_MS);
  return useQuery({
    queryKey: ["offers", "quote", text],
    queryFn: () => ask(api.POST("/v1/quotes", { body: JSON.parse(text) as RentRequest })),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
}

function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return useDeferredValue(settled);
}
