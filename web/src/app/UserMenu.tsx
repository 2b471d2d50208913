import { UserOutlined } from "@ant-design/icons";
import { useQueryClient } from "@tanstack/react-query";
import { Button, Popover } from "antd";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, ask } from "../api/client";
import { choose, LANGUAGES } from "../i18n";
import { useText } from "../i18n/useText";
import { useAct } from "../parts/useAct";
import { useAccount } from "../session/AccountProvider";

/** Settings, language and the way out. */
export function UserMenu() {
  const { t, language } = useText();
  const { who } = useAccount();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const leave = useAct(async () => {
    await ask(api.POST("/v1/logout"));
    client.clear();
    client.setQueryData(["whoami"], null);
    await navigate("/sign-in");
  });
  const item = (text: string, act: () => void, lang?: string) => (
    <Button
      key={text}
      type="text"
      block
      lang={lang}
      onClick={() => {
        setOpen(false);
        act();
      }}
    >
      {text}
    </Button>
  );
  return (
    <Popover
      trigger="click"
      placement="bottomRight"
      arrow={false}
      open={open}
      onOpenChange={setOpen}
      content={
        <div className="user-menu" data-testid="user-menu-items">
          {item(t("nav.settings"), () => void navigate("/settings"))}
          {LANGUAGES.filter((l) => l.id !== language).map((l) => item(l.name, () => void choose(l.id), l.id))}
          {item(t("shell.sign-out"), () => leave.run())}
        </div>
      }
    >
      <Button
        type="text"
        icon={<UserOutlined aria-hidden />}
        aria-haspopup="true"
        aria-expanded={open}
        data-testid="user-menu"
      >
        {who.user.name}
      </Button>
    </Popover>
  );
}
