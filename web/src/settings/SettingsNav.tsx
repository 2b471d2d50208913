import { NavLink } from "react-router";
import { useText } from "../i18n/useText";

/** The parts of the settings. */
export function SettingsNav() {
  const { t } = useText();
  const parts: [panel: string, text: string][] = [
    ["profile", t("settings.profile")],
    ["security", t("settings.security")],
    ["sessions", t("settings.sessions")],
    ["keys", t("settings.keys")],
    ["tokens", t("settings.tokens")],
  ];
  return (
    <nav className="subnav" aria-label={t("settings.title")}>
      {parts.map(([panel, text]) => (
        <NavLink key={panel} to={`/settings/${panel}`} replace>
          {text}
        </NavLink>
      ))}
    </nav>
  );
}
