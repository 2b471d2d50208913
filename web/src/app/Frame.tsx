import { MenuOutlined } from "@ant-design/icons";
import { Button, Drawer } from "antd";
import { Suspense, useState } from "react";
import { Outlet } from "react-router";
import { useText } from "../i18n/useText";
import { Reconnecting } from "../live/Reconnecting";
import { Loading } from "../parts/Loading";
import { AccountSwitch } from "./AccountSwitch";
import { BalanceChip } from "./BalanceChip";
import { Brand } from "./Brand";
import { FakeStrip } from "./FakeStrip";
import { SideNav } from "./SideNav";
import { UserMenu } from "./UserMenu";

/** Navigation at the left, account and balance on top, the page in the middle. */
export function Frame() {
  const { t } = useText();
  const [open, setOpen] = useState(false);
  return (
    <div className="frame">
      <a className="skip" href="#page">
        {t("shell.skip")}
      </a>
      <aside className="side">
        <Brand />
        <SideNav />
      </aside>
      <div className="main">
        <header className="top">
          <Button
            className="menu-button"
            type="text"
            icon={<MenuOutlined aria-hidden />}
            aria-label={t("shell.menu")}
            onClick={() => setOpen(true)}
          />
          <AccountSwitch />
          <span className="grow" />
          <BalanceChip />
          <UserMenu />
        </header>
        <FakeStrip />
        <Reconnecting />
        <main id="page" className="page" tabIndex={-1}>
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Drawer
        open={open}
        onClose={() => setOpen(false)}
        placement="left"
        size={240}
        title={<Brand />}
        styles={{ body: { padding: 0 } }}
      >
        <SideNav onChosen={() => setOpen(false)} />
      </Drawer>
    </div>
  );
}
