import { CheckOutlined, CopyOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useEffect, useRef, useState } from "react";
import { useText } from "../i18n/useText";

/** A line to be copied: a command, a link, a secret. */
export function CopyText({ text, label }: { text: string; label?: string }) {
  const { t } = useText();
  const line = useRef<HTMLElement>(null);
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 2_000);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      setDone(true);
    } else if (line.current) {
      // Plain http has no clipboard: mark the text, so that one key press copies it.
      window.getSelection()?.selectAllChildren(line.current);
    }
  };
  return (
    <span className="copy">
      <code ref={line}>{text}</code>
      <Button
        size="small"
        type="text"
        icon={done ? <CheckOutlined aria-hidden /> : <CopyOutlined aria-hidden />}
        aria-label={label ? `${t("shell.copy")}: ${label}` : t("shell.copy")}
        onClick={() => void copy()}
      />
    </span>
  );
}
