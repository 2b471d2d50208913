import { type ReactNode, useEffect } from "react";
import { useSite } from "../session/useSite";

type Props = { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode };

/** Title, what can be done here, and the content. */
export function Page({ title, about, actions, children }: Props) {
  const site = useSite();
  useEffect(() => {
    document.title = `${title} · ${site?.name ?? "Suanli"}`;
  }, [title, site?.name]);
  return (
    <>
      <div className="page-head">
        <div>
          <h1>{title}</h1>
          {about && <p className="about">{about}</p>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}
