import { type ThemeConfig, theme } from "antd";
import { useSyncExternalStore } from "react";

const FONT =
  'system-ui, -apple-system, "Segoe UI", Roboto, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif';
const MONO =
  'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace';

const shared = {
  fontFamily: FONT,
  fontFamilyCode: MONO,
  fontSize: 14,
  borderRadius: 6,
  controlHeight: 32,
  wireframe: false,
  motionDurationMid: "0.12s",
  motionDurationSlow: "0.16s",
};

const light: ThemeConfig = {
  algorithm: theme.defaultAlgorithm,
  token: {
    ...shared,
    colorPrimary: "#0b6e63",
    colorInfo: "#2a5d8f",
    colorSuccess: "#2e7d32",
    colorWarning: "#9a6200",
    colorError: "#b3261e",
    colorTextBase: "#17211f",
    colorTextSecondary: "#4d5b58",
    colorTextTertiary: "#5f6d6a",
    colorTextDescription: "#55635f",
    colorTextPlaceholder: "#66736f",
    colorBorder: "#cfd7d4",
    colorBorderSecondary: "#e2e8e5",
    colorBgLayout: "#f4f6f5",
    colorLink: "#0b6e63",
    // The palette would make greys of such dark tones.
    colorInfoBg: "#e9f1f8",
    colorInfoBorder: "#bcd3e8",
    colorWarningBg: "#fdf4e0",
    colorWarningBorder: "#ecd29a",
    colorErrorBg: "#fdedec",
    colorErrorBorder: "#efbfba",
    colorSuccessBg: "#e8f4e9",
    colorSuccessBorder: "#b9dbbc",
  },
};

const dark: ThemeConfig = {
  algorithm: theme.darkAlgorithm,
  token: {
    ...shared,
    colorPrimary: "#3cc4ac",
    colorInfo: "#6ea8dc",
    colorSuccess: "#66b96a",
    colorWarning: "#d9a03f",
    colorError: "#ffa79b",
    colorBgBase: "#121716",
    // Derived from the base, these would be tinted more the higher they lie.
    colorBgLayout: "#0e1211",
    colorBgContainer: "#161c1b",
    colorBgElevated: "#1a2120",
    colorBorder: "#3a4643",
    colorBorderSecondary: "#27302e",
    colorTextBase: "#e4ebe8",
    colorTextSecondary: "#b2bfbb",
    colorTextTertiary: "#9aa8a3",
    colorTextDescription: "#a5b2ae",
    colorTextPlaceholder: "#8b9995",
    colorLink: "#4fc4af",
    colorInfoBg: "#15222e",
    colorInfoBorder: "#2b435a",
    colorWarningBg: "#2c220d",
    colorWarningBorder: "#5a4719",
    colorErrorBg: "#331815",
    colorErrorBorder: "#6a2f2a",
    colorSuccessBg: "#15291a",
    colorSuccessBorder: "#2c5233",
  },
};

const components = {
  Tabs: { horizontalItemGutter: 24, horizontalItemPadding: "8px 0" },
  Form: { itemMarginBottom: 16, verticalLabelPadding: "0 0 4px" },
  Button: { primaryShadow: "none", defaultShadow: "none", dangerShadow: "none" },
  Drawer: { paddingLG: 20 },
} satisfies ThemeConfig["components"];

// On the bright primary of the dark look only dark text can be read.
const darkComponents: ThemeConfig["components"] = {
  ...components,
  Button: { ...components.Button, primaryColor: "#06211c" },
};

const query = "(prefers-color-scheme: dark)";

/** Whether the system asks for dark. */
export function useDark(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const list = matchMedia(query);
      list.addEventListener("change", changed);
      return () => list.removeEventListener("change", changed);
    },
    () => matchMedia(query).matches,
  );
}

/** The console's look. */
export function consoleTheme(isDark: boolean): ThemeConfig {
  return {
    ...(isDark ? dark : light),
    hashed: false,
    cssVar: { key: isDark ? "dark" : "light" },
    components: isDark ? darkComponents : components,
  };
}
