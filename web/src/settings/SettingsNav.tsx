import { useEffect, useRef } from "react";
import { NavLink, useLocation } from "react-router";
import { useText } from "../i18n/useText";
import { useAccount } from "../session/AccountProvider";
import { useSite } from "../session/useSite";

/** The parts of the settings. */
export function SettingsNav() {
  const { t } = useText();
  const bar = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // On a telephone not all parts fit: the open one is brought into sight.
  useEffect(() => {
    const open = bar.current?.querySelector(`a[href="${pathname}"]`);
    open?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [pathname]);
  const { who } = useAccount();
  const site = useSite();
  // Where nobody asks who he is, a user need not look for it.
  const identity = site?.identity_required || (who.user.identity ?? "none") !== "none";
  const parts: [panel: string, text: string][] = [
    ["profile", t("settings.profile")],
    ...(identity ? [["identity", t("settings.identity")] as [string, string]] : []),
    ["security", t("settings.security")],
    ["sessions", t("settings.sessions")],
    ["keys", t("settings.keys")],
    ["tokens", t("settings.tokens")],
  ];
  return (
    <nav ref={bar} className="subnav" aria-label={t("settings.title")}>
      {parts.map(([panel, text]) => (
        <NavLink key={panel} to={`/settings/${panel}`} replace>
          {text}
        </NavLink>
      ))}
    </nav>
  );
}
