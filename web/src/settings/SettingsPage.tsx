import { lazy, type ReactNode, Suspense } from "react";
import { Navigate, useParams } from "react-router";
import { NotFoundPage } from "../app/NotFoundPage";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Page } from "../parts/Page";
import { again } from "../shell/again";
import { ProfilePanel } from "./ProfilePanel";
import { SettingsNav } from "./SettingsNav";

const PasswordPanel = lazy(again(async () => ({ default: (await import("./PasswordPanel")).PasswordPanel })));
const IdentityPanel = lazy(again(async () => ({ default: (await import("./IdentityPanel")).IdentityPanel })));
const ProvidersPanel = lazy(
  again(async () => ({ default: (await import("./ProvidersPanel")).ProvidersPanel })),
);
const TotpPanel = lazy(again(async () => ({ default: (await import("./TotpPanel")).TotpPanel })));
const SessionsPanel = lazy(again(async () => ({ default: (await import("./SessionsPanel")).SessionsPanel })));
const KeysPanel = lazy(again(async () => ({ default: (await import("./KeysPanel")).KeysPanel })));
const TokensPanel = lazy(again(async () => ({ default: (await import("./TokensPanel")).TokensPanel })));

const PANELS: Record<string, ReactNode> = {
  profile: <ProfilePanel />,
  identity: <IdentityPanel />,
  security: (
    <>
      <PasswordPanel />
      <TotpPanel />
      <ProvidersPanel />
    </>
  ),
  sessions: <SessionsPanel />,
  keys: <KeysPanel />,
  tokens: <TokensPanel />,
};

/** The user's own things. */
export function SettingsPage() {
  const { t } = useText();
  const { panel } = useParams();
  if (panel === undefined) return <Navigate to="/settings/profile" replace />;
  const content = PANELS[panel];
  if (content === undefined) return <NotFoundPage />;
  return (
    <Page title={t("settings.title")}>
      <SettingsNav />
      <Suspense fallback={<Loading />}>{content}</Suspense>
    </Page>
  );
}
