import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { useText } from "../../i18n/useText";
import { Loading } from "../../parts/Loading";
import { Page } from "../../parts/Page";
import { Refusal } from "../../parts/Refusal";
import { type AuditFilter, AuditFilters } from "./AuditFilters";
import { AuditRows } from "./AuditRows";
import { ChainCheck } from "./ChainCheck";

const PAGE = 50;

/** Who did what, in a chain that shows when an entry was changed. */
export function AuditLogPage() {
  const { t } = useText();
  const [filter, setFilter] = useState<AuditFilter>({});
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["audit-log", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ask(api.GET("/v1/audit-log", { params: { query: { ...filter, cursor: pageParam, limit: PAGE } } })),
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
  return (
    <Page
      title={t("audit.title")}
      about={t("audit.about")}
      actions={
        <>
          <ChainCheck />
          <Button href="/v1/audit-log/export" download>
            {t("audit.export")}
          </Button>
        </>
      }
    >
      <AuditFilters onChange={setFilter} />
      {error && <Refusal error={error} />}
      {!data && !error && <Loading />}
      {data && <AuditRows entries={data.pages.flatMap((page) => page.items)} />}
      {hasNextPage && (
        <Button className="more-button" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t("shell.more")}
        </Button>
      )}
    </Page>
  );
}
