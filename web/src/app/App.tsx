import { StyleProvider } from "@ant-design/cssinjs";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { ConfigProvider, App as Messages } from "antd";
import { useEffect, useState } from "react";
import { RouterProvider } from "react-router";
import { onOutdated, onSignedOut } from "../api/client";
import { Refused } from "../api/problem";
import { useAntdLocale } from "../i18n/antd";
import { routes } from "./routes";
import { consoleTheme, useDark } from "./theme";

function queryClient() {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        // A refusal is an answer; only what did not arrive is asked again.
        retry: (failures, error) => !(error instanceof Refused && error.status < 500) && failures < 2,
      },
    },
  });
}

/** The whole console. */
export function App() {
  const [client] = useState(queryClient);
  const isDark = useDark();
  const locale = useAntdLocale();
  useEffect(() => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
  }, [isDark]);
  useEffect(() => {
    onSignedOut(() => client.setQueryData(["whoami"], null));
    onOutdated(() => void client.invalidateQueries({ queryKey: ["whoami"] }));
  }, [client]);
  return (
    <StyleProvider layer>
      <ConfigProvider theme={consoleTheme(isDark)} locale={locale} button={{ autoInsertSpace: false }}>
        <Messages message={{ maxCount: 3 }}>
          <QueryClientProvider client={client}>
            <RouterProvider router={routes} />
          </QueryClientProvider>
        </Messages>
      </ConfigProvider>
    </StyleProvider>
  );
}
