import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Button, Input, Select } from "antd";
import { useState } from "react";
import { api, ask } from "../../api/client";
import type { UserState } from "../../api/types";
import { USER_STATES } from "../../api/words";
import { useText } from "../../i18n/useText";
import { Loading } from "../../parts/Loading";
import { OnceSecret } from "../../parts/OnceSecret";
import { Page } from "../../parts/Page";
import { Refusal } from "../../parts/Refusal";
import { UserRows } from "./UserRows";

/** Everybody who may sign in. */
export function UsersPage() {
  const { t, word } = useText();
  const [state, setState] = useState<UserState>();
  const [q, setQ] = useState("");
  const [password, setPassword] = useState<{ user: string; secret: string }>();
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["users", state, q],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      ask(api.GET("/v1/users", { params: { query: { state, q: q || undefined, cursor: pageParam } } })),
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  return (
    <Page title={t("users.title")}>
      <search className="filters">
        <Input.Search
          aria-label={t("users.search")}
          placeholder={t("users.search")}
          allowClear
          onSearch={setQ}
        />
        <Select
          aria-label={t("users.state")}
          allowClear
          placeholder={t("users.any-state")}
          value={state}
          popupMatchSelectWidth={false}
          onChange={setState}
          options={USER_STATES.map((s) => ({ value: s, label: word("user-state", s) }))}
        />
      </search>
      {password && (
        <OnceSecret title={t("accounts.password-of", { user: password.user })} secret={password.secret} />
      )}
      <UserRows
        users={data.pages.flatMap((page) => page.items)}
        onPassword={(user, secret) => setPassword({ user, secret })}
      />
      {hasNextPage && (
        <Button className="more-button" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t("shell.more")}
        </Button>
      )}
    </Page>
  );
}
