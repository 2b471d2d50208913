import { Button } from "antd";
import { type ReactNode, useEffect } from "react";
import { Brand } from "../app/Brand";
import { FakeStrip } from "../app/FakeStrip";
import { choose, LANGUAGES } from "../i18n";
import { useText } from "../i18n/useText";

/** The frame of the pages before signing in. */
export function AuthCard({
  title,
  children,
  below,
}: {
  title: string;
  children: ReactNode;
  below?: ReactNode;
}) {
  const { language } = useText();
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <>
      <FakeStrip />
      <main className="auth">
        <div className="auth-card">
          <div className="auth-top">
            <Brand />
            {LANGUAGES.filter((l) => l.id !== language).map(({ id, name }) => (
              <Button key={id} type="text" size="small" lang={id} onClick={() => void choose(id)}>
                {name}
              </Button>
            ))}
          </div>
          <h1>{title}</h1>
          {children}
        </div>
        {below && <p className="auth-below">{below}</p>}
      </main>
    </>
  );
}
