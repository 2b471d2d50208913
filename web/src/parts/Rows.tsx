import type { ReactNode } from "react";

/** One column: what it is called and what stands in it. */
export type Column<T> = {
  id: string;
  title: ReactNode;
  cell: (row: T) => ReactNode;
  align?: "right";
  /** Left out where the screen is narrow. */
  wide?: boolean;
  /** Buttons: no title in front of them on a narrow screen. */
  actions?: boolean;
};

type Props<T> = {
  label: string;
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string;
  empty: ReactNode;
  testid?: string;
  /** Marks rows that are over. */
  faded?: (row: T) => boolean;
};

/** A table that becomes a list of cards on a narrow screen. */
export function Rows<T>({ label, rows, columns, id, empty, testid, faded }: Props<T>) {
  if (rows.length === 0) return <div className="empty">{empty}</div>;
  const look = (c: Column<T>) =>
    [c.align === "right" && "right", c.wide && "wide", c.actions && "actions"].filter(Boolean).join(" ") ||
    undefined;
  return (
    <div className="rows-box">
      <table className="rows" aria-label={label} data-testid={testid}>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.id} scope="col" className={look(c)}>
                {c.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)} className={faded?.(row) ? "faded" : undefined} data-id={id(row)}>
              {columns.map((c) => (
                <td key={c.id} className={look(c)}>
                  {!c.actions && <span className="cell-title">{c.title}</span>}
                  <div className="cell">{c.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
