import { type ReactNode, useId } from "react";

type Props = { title?: ReactNode; extra?: ReactNode; children: ReactNode; testid?: string; tight?: boolean };

/** A titled part of a page. */
export function Panel({ title, extra, children, testid, tight }: Props) {
  const id = useId();
  return (
    <section
      className={tight ? "panel tight" : "panel"}
      aria-labelledby={title ? id : undefined}
      data-testid={testid}
    >
      {(title || extra) && (
        <div className="panel-head">
          {title && <h2 id={id}>{title}</h2>}
          {extra}
        </div>
      )}
      {children}
    </section>
  );
}
